/**
 * Templates build a tree of elements, and the renderer escapes every text in it. There is no way to insert markup, so no
 * data can become any.
 */
import htm from 'htm';
import { type ComponentChildren, Fragment, h, type VNode } from 'preact';
import { render as renderPart } from 'preact-render-to-string';

export type Html = VNode;
export type Content = ComponentChildren;

type Make = (type: string, props: object | null, ...children: ComponentChildren[]) => VNode;
type Bind = (make: Make) => (strings: TemplateStringsArray, ...values: unknown[]) => VNode | VNode[];

/** A form that the script sends does nothing before the script has run: the browser would put its fields into the address. */
const make: Make = (type, props, ...children) => {
  const isSentByScript = type === 'form' && props !== null && 'hx-post' in props;
  return h(type, isSentByScript ? { method: 'dialog', ...props } : props, ...children);
};

/** The package's types are wrong: its default export is the function. */
const bound = (htm as unknown as { bind: Bind }).bind(make);

/** Builds elements: `html\`<p class=${name}>${text}</p>\``. Void elements are written `<br />`. */
export function html(strings: TemplateStringsArray, ...values: readonly unknown[]): Html {
  const built = bound(strings, ...values);
  return Array.isArray(built) ? h(Fragment, null, built) : built;
}

export function renderDocument(tree: Html): string {
  return `<!doctype html>\n${renderPart(tree)}`;
}

/** Returns the text of a tree. */
export function textOf(content: unknown): string {
  if (Array.isArray(content)) return content.map(textOf).join('');
  if (typeof content === 'object' && content !== null) return textOf((content as Html).props?.children);
  return typeof content === 'string' || typeof content === 'number' ? String(content) : '';
}

export { renderPart };
