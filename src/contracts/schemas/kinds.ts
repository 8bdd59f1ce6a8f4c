/**
 * The kinds of value that a parameter can have, by name in `kinds.json`: an anchored pattern that matches in linear time, the
 * error code of an invalid value, and the text that follows "Param not valid. " in its message.
 *
 * If a pattern is stricter than that of the real API, `wider` is the real pattern and `because` is the reason. A test
 * compares both with the recorded contract (test/contract/data/endpoints.yaml).
 */
import written from './kinds.json' with { type: 'json' }

export interface ValueKind {
  /** A regular expression with the flag `u`, anchored at both ends. Absent: every value is valid (flags). */
  readonly pattern?: string
  readonly maxLength: number
  /** A grammar that a pattern cannot express, checked by name. */
  readonly grammar?: 'query'
  /** The kind of each value, for a list of values. A list has at least one value: the manager reads `[]` as all. */
  readonly listOf?: 'numbers' | 'names'
  readonly code: number
  /** Empty: the message of the error code is enough. */
  readonly message: string
  /** The pattern of the real API if this one is stricter. */
  readonly wider?: string
  readonly because?: string
}

export type Kind = keyof typeof written

export const kinds = written as { readonly [Name in Kind]: ValueKind & (typeof written)[Name] }
