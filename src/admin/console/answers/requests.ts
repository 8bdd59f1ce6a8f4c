/** What the console's API tells of requests as they are answered. Times in milliseconds, sizes in bytes. */

/** One request in the live tail. No URL, no body. */
export interface TailLine {
  readonly id: string
  /** Milliseconds since 1970. */
  readonly at: number
  readonly method: string
  readonly route: string
  readonly status: number
  readonly ms: number
  readonly bytes: number
  readonly cache: string
  readonly user: string
  readonly client: string
  readonly node?: string
}

/** What one event of the tail carries; `skipped`: lines that came too fast to be sent. */
export interface TailBatch {
  readonly lines: readonly TailLine[]
  readonly skipped: number
}
