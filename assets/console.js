// The console's one script. Pages work by links, forms and htmx attributes; this is what those can't do.

/** Parts that refresh themselves have `hx-trigger="news from:body …"`; a page without one does not listen. */
const IS_LIVE = '[hx-trigger*="news"]';
/** Where a person selects rows; they stand still meanwhile. */
const IS_SELECTING = '.selection :checked';
/** After a refusal: twice as long each time, for a listener that has too many pages already. */
const TRY_AGAIN_MS = 10_000;
const TRY_AGAIN_AT_MOST_MS = 5 * 60_000;

let source = null;
let lost = false;
let tryAgainMs = TRY_AGAIN_MS;

function tellNews() {
  if (document.querySelector(IS_SELECTING) === null) document.body.dispatchEvent(new Event('news'));
}

function listen() {
  source?.close();
  const opened = new EventSource('/live');
  source = opened;
  opened.addEventListener('news', tellNews);
  opened.addEventListener('open', () => {
    tryAgainMs = TRY_AGAIN_MS;
    showLost(false);
    if (lost) tellNews();
    lost = false;
  });
  opened.addEventListener('error', () => {
    lost = true;
    showLost(true);
    // After a broken connection the browser comes back by itself; after a refusal it does not.
    if (opened.readyState === EventSource.CLOSED) {
      setTimeout(() => opened === source && listen(), tryAgainMs);
      tryAgainMs = Math.min(2 * tryAgainMs, TRY_AGAIN_AT_MOST_MS);
    }
  });
}

function showLost(isLost) {
  const sign = document.getElementById('lost');
  if (sign !== null) sign.hidden = !isLost;
}

/** A wide picture begins where it says that the reader looks first. */
for (const wide of document.querySelectorAll('[data-scroll-to]')) {
  wide.scrollLeft = Number(wide.dataset.scrollTo) - wide.clientWidth / 2;
}

if (document.querySelector(IS_LIVE) !== null) {
  listen();
  // A browser has six connections to a host: tabs that nobody looks at must not use them up.
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
