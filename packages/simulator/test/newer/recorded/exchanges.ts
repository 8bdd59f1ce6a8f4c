/** The exchanges that a real cluster of release 4.5.4 had in its own contract. */
import { readFileSync } from 'node:fs'

export interface RecordedExchange {
  /** The place in the file, from 1: the table of differences names an exchange by it. */
  readonly line: number
  /** Method and path of the operation; null: about logging in, tokens and routing. */
  readonly operation: string | null
  readonly node: string
  /** `administrator`, `reader1`, `basic` for Basic credentials; null: see `note`. */
  readonly user: string | null
  readonly note: string | null
  readonly request: {
    readonly method: string
    readonly path: string
    readonly contentType?: string
    readonly body?: string
  }
  readonly response: {
    readonly status: number
    readonly headers: Readonly<Record<string, string>>
    readonly body: string
  }
}

const file = new URL('../../../../../test/contract/exchanges/newer-contract.jsonl', import.meta.url)

export function recordedContract(): RecordedExchange[] {
  return readFileSync(file, 'utf8')
    .split('\n')
    .flatMap((text, at) => (text === '' ? [] : [{ ...(JSON.parse(text) as RecordedExchange), line: at + 1 }]))
}

export interface Envelope {
  readonly data?: Readonly<Record<string, unknown>> & {
    readonly affected_items?: readonly unknown[]
    readonly total_affected_items?: number
    readonly failed_items?: readonly FailedItem[]
  }
  readonly title?: string
  readonly detail?: string
  readonly remediation?: string
  readonly message?: string
  readonly error?: number
}

interface FailedItem {
  readonly error: { readonly code: number; readonly message: string; readonly remediation?: string }
  readonly id: readonly unknown[]
}

/** Returns the parsed body; undefined if it is no JSON. */
export function parseBody(body: string): Envelope | undefined {
  try {
    return JSON.parse(body) as Envelope
  } catch {
    return undefined
  }
}
