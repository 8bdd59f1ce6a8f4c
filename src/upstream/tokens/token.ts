/**
 * A token of a node. Its text is foreign input, and a secret: it is in a private field, so that neither a log nor a dump of
 * an object contains it.
 */
import { ownField, parseJson } from '../../core/values.ts'

/** Characters; a node of release 4.5 sends 398. A node refuses header lines of 8,190 bytes. */
const MAX_TOKEN_LENGTH = 4096
/** The compact form of a JWT (RFC 7519 section 3): three parts in base64url. */
const TOKEN_FORM = /^[A-Za-z0-9_-]+\.([A-Za-z0-9_-]+)\.[A-Za-z0-9_-]+$/
/** Share of its lifetime after which a token is renewed while it is still in use. */
const RENEWAL_SHARE = 0.8

/** `elapsed`: monotonic milliseconds; `wall`: milliseconds since 1970. */
export interface TokenClock {
  elapsed(): number
  wall(): number
}

export class Token {
  readonly #text: string
  readonly #clock: TokenClock
  readonly #renewAt: number
  readonly #expiresAt: number
  #acceptedAt: number

  /** `lifetime` in milliseconds from now. */
  constructor(text: string, lifetime: number, clock: TokenClock) {
    this.#text = text
    this.#clock = clock
    this.#acceptedAt = clock.elapsed()
    this.#renewAt = this.#acceptedAt + lifetime * RENEWAL_SHARE
    this.#expiresAt = this.#acceptedAt + lifetime
  }

  header(): string {
    return `Bearer ${this.#text}`
  }

  get isDueForRenewal(): boolean {
    return this.#clock.elapsed() >= this.#renewAt
  }

  get hasExpired(): boolean {
    return this.#clock.elapsed() >= this.#expiresAt
  }

  /** Milliseconds since the node has issued or accepted the token. */
  get acceptedAgo(): number {
    return this.#clock.elapsed() - this.#acceptedAt
  }

  recordAccepted(): void {
    this.#acceptedAt = this.#clock.elapsed()
  }
}

/** Returns the token in the body of a login, or `undefined` if the body has none of the right form. */
export function parseLogin(body: Buffer, clock: TokenClock): Token | undefined {
  const text = ownField(ownField(parseJson(body), 'data'), 'token')
  if (typeof text !== 'string' || text.length > MAX_TOKEN_LENGTH) return undefined
  const claims = TOKEN_FORM.exec(text)?.[1]
  const lifetime = claims === undefined ? undefined : lifetimeOf(claims, clock)
  return lifetime === undefined ? undefined : new Token(text, lifetime, clock)
}

/**
 * Returns the milliseconds between `nbf` and `exp`: both are times of the clock of the node, which may differ from the
 * clock here. The signature is not checked, since the claims decide nothing but the time of the renewal.
 */
function lifetimeOf(claims: string, clock: TokenClock): number | undefined {
  const parsed = parseJson(Buffer.from(claims, 'base64url'))
  const [exp, nbf] = [ownField(parsed, 'exp'), ownField(parsed, 'nbf') ?? clock.wall() / 1000]
  if (typeof exp !== 'number' || typeof nbf !== 'number') return undefined
  const lifetime = (exp - nbf) * 1000
  return Number.isFinite(lifetime) && lifetime > 0 ? lifetime : undefined
}
