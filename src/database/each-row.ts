/**
 * The parameters of a statement that SQLite's driver runs once per row, in order. It is prepared once and passes
 * through Kysely once. A row that breaks a constraint ends it; the transaction must then be rolled back.
 */
export class EachRow {
  readonly rows: readonly (readonly unknown[])[];

  constructor(rows: readonly (readonly unknown[])[]) {
    this.rows = rows;
  }
}
