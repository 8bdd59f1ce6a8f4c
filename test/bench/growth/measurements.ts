/** What each measurement of `npm run bench:growth` gets. */
import type { Duration, Say } from './rows.ts'

export interface Plan {
  /** A folder for files, which is removed afterwards. */
  readonly folder: string
  readonly origin: string
  /** Fewer and smaller rows. */
  readonly quick: boolean
  readonly duration: Duration
  readonly say: Say
}
