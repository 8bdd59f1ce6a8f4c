/** What sign-ins to the console need of the rest of the edge. The composition root provides it. */
import type { FastifyRequest } from 'fastify'
import type { Caller } from '../../core/request.ts'
import type { Issuer } from './issuer.ts'

export interface NewSession {
  /** The value of the cookie. */
  readonly text: string
  readonly user: string
  /** Milliseconds since 1970. */
  readonly expiresAt: number
}

export interface SessionPorts {
  /** Sent to browsers with 401 instead of a challenge for Basic, which opens the browser's own dialog. */
  readonly challenge: string
  /** Rejects with 901, 903 or 904. */
  startWithPassword(
    request: FastifyRequest,
    login: { readonly name: string; readonly password: string },
  ): Promise<NewSession>
  /** `claims`: verified claims of an outside issuer. */
  startWithClaims(
    claims: Readonly<Record<string, unknown>>,
  ): Promise<{ readonly ok: true; readonly session: NewSession } | { readonly ok: false; readonly reason: string }>
  find(text: string): Caller | undefined
  /** Ends the session on all replicas. Rejects with 944 if only this replica refuses it so far. */
  end(caller: Caller): Promise<void>
  /** Returns a signed text for a cookie. */
  remember(progress: Readonly<Record<string, unknown>>): string
  /** Returns what `remember` got, once. `complete` takes it on all replicas. */
  take(text: string): { readonly progress: Readonly<Record<string, unknown>>; complete(): Promise<void> } | undefined
  /** The outside issuer. Read for each request: a reload may change it. */
  issuer(): Issuer | undefined
  /** Counts a request without a caller against its address. Rejects with 903. */
  countAddress(request: FastifyRequest): Promise<void>
  log(level: 'info' | 'warn', message: string, fields: object): void
}
