/** Why a workbook is not read. `hint` is for the person who sent it: it may hold values. */
export class Refused extends Error {
  readonly hint: string | null;

  constructor(rule: string, hint: string | null = null) {
    super(rule);
    this.hint = hint;
  }
}

export const DAMAGED = 'is damaged, or is not a workbook: open it in Excel, and save it as .xlsx or CSV';
