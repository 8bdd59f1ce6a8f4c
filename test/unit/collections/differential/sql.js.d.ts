/** The functions of sql.js (SQLite as WebAssembly) that the oracle uses. The package has no types. */
declare module 'sql.js' {
  export type SqlValue = string | number | null

  export interface Statement {
    run(values: readonly SqlValue[]): void
    free(): boolean
  }

  export interface Database {
    run(sql: string, values?: readonly SqlValue[]): Database
    exec(sql: string, values?: readonly SqlValue[]): readonly { readonly values: readonly (readonly SqlValue[])[] }[]
    prepare(sql: string): Statement
  }

  // biome-ignore lint/style/noDefaultExport: the package has no other.
  export default function initSqlJs(): Promise<{ readonly Database: new () => Database }>
}
