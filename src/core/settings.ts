/** What settings mean to operators: the files that settings name, and digests. */
import { hash } from 'node:crypto'

/** A certificate that the edge uses. */
export interface CertificateState {
  /** The setting that names its file. */
  readonly setting: string
  /** End of its validity, in milliseconds since 1970. */
  readonly validTo: number
}

/** The result of the latest reload. The load at the start of the process counts as the first one. */
export interface ReloadStatus {
  /** Why the latest reload failed; absent if it succeeded. */
  readonly fault?: string
  /** When a configuration was last put to use, in milliseconds since 1970. */
  readonly succeededAt: number
  /** Settings that have another value in the file than in this process. They take effect with the next start. */
  readonly pendingRestart: readonly string[]
  /** Reloads since the start that changed something, and those that found another fault than the one before. */
  readonly counts: { readonly succeeded: number; readonly failed: number }
}

/**
 * Names of settings → digests of what they say, by which replicas notice that they were given different settings or files.
 */
export type SettingDigests = Readonly<Record<string, string>>

const DIGEST_CHARS = 11

/** The text must be no secret, or have at least 128 random bits: other programs may read the digest in Redis. */
export function digestText(text: string): string {
  return hash('sha256', text, 'base64url').slice(0, DIGEST_CHARS)
}
