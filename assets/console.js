// The console's only script, for what links, forms and htmx attributes cannot do.

/** Live parts have `hx-trigger="news from:body …"`. A page without one opens no stream. */
const IS_LIVE = '[hx-trigger*="news"]';
/** Rows do not refresh while some are selected. */
const IS_SELECTING = '.selection :checked';
/** The wait after a rejected stream; it doubles each time. */
const RETRY_MS = 10_000;
const RETRY_MAX_MS = 5 * 60_000;

let source = null;
let lost = false;
let retryMs = RETRY_MS;

function refresh() {
  if (document.querySelector(IS_SELECTING) === null) document.body.dispatchEvent(new Event('news'));
}

function listen() {
  source?.close();
  const opened = new EventSource('/live');
  source = opened;
  opened.addEventListener('news', refresh);
  opened.addEventListener('open', () => {
    retryMs = RETRY_MS;
    showLost(false);
    if (lost) refresh();
    lost = false;
  });
  opened.addEventListener('error', () => {
    lost = true;
    showLost(true);
    // The browser reconnects after a broken connection, but not after a rejection.
    if (opened.readyState === EventSource.CLOSED) {
      setTimeout(() => opened === source && listen(), retryMs);
      retryMs = Math.min(2 * retryMs, RETRY_MAX_MS);
    }
  });
}

function showLost(isLost) {
  const notice = document.getElementById('lost');
  if (notice !== null) notice.hidden = !isLost;
}

/** Times are in UTC until the script shows them in local time, with UTC on hover. */
const INSTANT = new Intl.DateTimeFormat('en-US', { dateStyle: 'medium', timeStyle: 'medium' });
const CLOCK = new Intl.DateTimeFormat('en-US', { timeStyle: 'short' });

function localize() {
  for (const time of document.querySelectorAll('time.instant')) {
    const format = time.classList.contains('clock') ? CLOCK : INSTANT;
    const local = format.format(new Date(time.dateTime));
    if (time.textContent === local) continue;
    time.title = time.textContent;
    time.textContent = local;
  }
}
localize();
// Before the browser paints a refreshed part.
new MutationObserver(localize).observe(document.body, {
  childList: true,
  characterData: true,
  subtree: true,
});

/** Fields of a time contain UTC. The user sees and types local time, and the form sends UTC. */
const TIME_FIELDS = 'input[type=datetime-local]';
for (const field of document.querySelectorAll(TIME_FIELDS)) {
  field.labels[0]?.querySelector('.zone')?.remove();
  if (field.value === '') continue;
  const at = new Date(`${field.value}Z`);
  field.value = new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, -1);
}
document.addEventListener('formdata', ({ target, formData }) => {
  for (const { name, value } of target.querySelectorAll(TIME_FIELDS)) {
    if (value !== '') formData.set(name, new Date(value).toISOString());
  }
});

/** Parts that load later move the element of the address. It stays in view until the user acts or all have loaded. */
let isMoving = location.hash.length > 1;
for (const name of ['wheel', 'touchmove', 'pointerdown', 'keydown'])
  addEventListener(name, () => (isMoving = false), { once: true, passive: true });
new MutationObserver(() => {
  if (!isMoving) return;
  document.getElementById(decodeURIComponent(location.hash.slice(1)))?.scrollIntoView();
  isMoving = document.querySelector('[hx-trigger=load]') !== null;
}).observe(document.body, { childList: true, subtree: true });

/** Parts with `hx-trigger="tick from:body"` ask again after this time while the page is visible. */
const TICK_MS = 5_000;
setInterval(() => {
  if (document.hidden) return;
  document.body.dispatchEvent(new Event('tick'));
  // A rejected stream is retried only after a while. A broken one reconnects within seconds and then catches up.
  if (source?.readyState === EventSource.CLOSED) refresh();
}, TICK_MS);

if (document.querySelector(IS_LIVE) !== null) {
  listen();
  // A browser opens six connections per host; hidden tabs must not use them up.
  document.addEventListener('visibilitychange', () => {
    if (document.hidden) {
      source?.close();
      source = null;
    } else {
      lost = true;
      listen();
    }
  });
}

/** The form whose request was sent last; null if it was a button's. */
let sent = null;
document.addEventListener('htmx:before:request', ({ detail }) => {
  const { sourceElement, request } = detail.ctx;
  if (request.method !== 'POST' || sourceElement.matches('[hx-headers\\:append], .preview-of')) return;
  sent = sourceElement instanceof HTMLFormElement ? sourceElement : null;
});

let isResuming = false;

/** After the session ended the page stays. Once the same person has signed in, it sends its form again. */
async function resume() {
  const noticed = () => document.querySelector('.signed-out');
  // The browser may report both events: the form is sent once.
  if (isResuming || document.hidden || noticed() === null) return;
  isResuming = true;
  const response = await fetch('/session', { headers: { 'x-background': '1' } }).catch(() => null);
  isResuming = false;
  if (!response?.ok || response.redirected) return;
  const { user, token } = await response.json();
  // A late response of the ended session may have replaced the notice.
  const notice = noticed();
  if (notice === null) return;
  if (user !== document.body.dataset.user) {
    notice.textContent = 'Another person has signed in. Reload this page.';
    return;
  }
  document.body.setAttribute('hx-headers:inherited', JSON.stringify({ 'x-csrf-token': token }));
  notice.remove();
  sent?.requestSubmit();
}
document.addEventListener('visibilitychange', resume);
addEventListener('focus', resume);

/** A part of a page that cannot be loaded shows what to do, and a form without a response keeps what was typed. */
function showFailure({ target, detail: { error } }) {
  const part = target.closest?.('[hx-trigger=load]')?.querySelector('[role=status]');
  const message = document.getElementById('message');
  if (part) part.textContent = 'This part could not be loaded. Reload the page to try again.';
  else if (error !== undefined && target === sent) {
    message.innerHTML = '<div class="problem"></div>';
    message.firstChild.textContent = 'The server did not respond. Check the connection, then try again.';
  }
}
document.addEventListener('htmx:error', showFailure);
document.addEventListener('htmx:response:error', showFailure);

document.addEventListener('change', ({ target }) => {
  if (!target.matches('.select-all')) return;
  for (const box of target.form.querySelectorAll('td > [type=checkbox], th > [type=checkbox]'))
    box.checked = target.checked;
});

/** `/` goes to the search, unless the user is typing. */
const search = document.getElementById('search-text');
const found = document.getElementById('found');
document.addEventListener('keydown', (event) => {
  const isTyping = event.target instanceof Element && event.target.matches('input, select, textarea');
  if (event.key !== '/' || isTyping || search === null) return;
  event.preventDefault();
  search.focus();
});

/** What was found for an earlier text cannot be opened. The arrow keys walk through the rest, and Enter opens the first. */
search?.addEventListener('input', () => (found.inert = true));
search?.closest('.search').addEventListener('keydown', (event) => {
  const links = found.inert ? [] : [...found.querySelectorAll('a')];
  const all = [search, ...links];
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  const next = all[all.indexOf(document.activeElement) + step];
  if (event.key === 'Escape') {
    found.replaceChildren();
    search.focus();
  } else if (event.key === 'Enter' && event.target === search && links.length > 0) {
    event.preventDefault();
    links[0].click();
  } else if (next !== undefined) {
    event.preventDefault();
    next.focus();
  }
});
if (found !== null) {
  new MutationObserver(() => (found.inert = false)).observe(found, { childList: true });
  for (const name of ['focusin', 'pointerdown'])
    addEventListener(name, ({ target }) => {
      if (!(target instanceof Element && target.closest('.search'))) found.replaceChildren();
    });
}
