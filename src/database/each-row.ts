/**
 * Parameters of a statement that SQLite's driver runs once for each of these rows, in order: it is prepared once, and
 * passes through Kysely once. A row that breaks a rule ends it; what was done before that is the transaction's to undo.
 */
export class EachRow {
  readonly rows: readonly (readonly unknown[])[];

  constructor(rows: readonly (readonly unknown[])[]) {
    this.rows = rows;
  }
}
