/**
 * Pages are trees of elements, not texts: what stands in `${…}` is a text or an element, and a text is escaped by the
 * renderer wherever it ends up. There is no way to put markup in, so nothing in the ledger can become any.
 */
import htm from 'htm';
import { type ComponentChildren, h, type VNode } from 'preact';
import { render as renderTree } from 'preact-render-to-string';

export type Html = VNode;
/** What may stand inside an element. */
export type Content = ComponentChildren;

type Bind = (make: typeof h) => (strings: TemplateStringsArray, ...values: unknown[]) => VNode | VNode[];
/** Its types say that the module is what is its default export. */
const bound = (htm as unknown as { bind: Bind }).bind(h);

/** `html\`<p class=${name}>${text}</p>\``: one element, written as HTML; elements without an end are `<br />`. */
export function html(strings: TemplateStringsArray, ...values: readonly unknown[]): Html {
  const made = bound(strings, ...values);
  if (Array.isArray(made)) throw new Error('a template is one element: put several into a <div> or a list');
  return made;
}

/** The text of a whole document. */
export function renderDocument(tree: Html): string {
  return `<!doctype html>\n${renderTree(tree)}`;
}

/** The text of a part of one. */
export function renderPart(tree: Html): string {
  return renderTree(tree);
}
