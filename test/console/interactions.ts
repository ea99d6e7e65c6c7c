/** Counts the interactions of a job: a click, a choice or a field filled. */
import { follow, type Page } from './stage.ts';

/** Clicks wait for the page that follows. */
export function counting(page: Page) {
  let interactions = 0;
  return {
    used: () => interactions,
    async use(role: 'link' | 'button', name: RegExp) {
      interactions += 1;
      await follow(page, page.getByRole(role, { name }).first());
    },
    async fill(label: string, text: string) {
      interactions += 1;
      await page.getByLabel(label, { exact: true }).fill(text);
    },
    async check(label: string) {
      interactions += 1;
      await page.getByLabel(label, { exact: true }).check();
    },
    async select(label: string, value: string) {
      interactions += 1;
      await page.getByLabel(label, { exact: true }).selectOption(value);
    },
    async choose(label: string, file: Parameters<ReturnType<Page['getByLabel']>['setInputFiles']>[0]) {
      interactions += 1;
      await page.getByLabel(label).setInputFiles(file);
    },
  };
}

export type Counting = ReturnType<typeof counting>;
