/** A token of a node, as its login returns it. */
import type { TokenSubject } from '../../core/access.ts'
import type { Clock } from '../../core/timing.ts'
import { ownField, parseJson } from '../../core/values.ts'

/** Characters; a node of release 4.5 sends 398. A node refuses header lines of 8,190 bytes. */
const MAX_TOKEN_LENGTH = 4096
/** The compact form of a JWT (RFC 7519 section 3): three parts in base64url. */
const TOKEN_FORM = /^[A-Za-z0-9_-]+\.([A-Za-z0-9_-]+)\.[A-Za-z0-9_-]+$/
/** Share of its lifetime after which a token is renewed while it is still in use. */
const RENEWAL_SHARE = 0.8

/**
 * A token of a node. Its text is foreign input, and a secret: it is in a private field, so that neither a log nor a
 * dump of an object contains it.
 */
export class Token {
  readonly #text: string
  readonly #clock: Clock
  readonly #issuedAt: number
  readonly #renewAt: number
  readonly #expiresAt: number
  #acceptedAt: number
  readonly subject: TokenSubject
  /** When the login was sent, in milliseconds since 1970. */
  issuedAt: number

  /** `lifetime` in milliseconds from now. */
  constructor(text: string, { lifetime, subject }: TokenClaims, clock: Clock) {
    this.#text = text
    this.subject = subject
    this.issuedAt = clock.wall()
    this.#clock = clock
    this.#acceptedAt = clock.elapsed()
    this.#issuedAt = this.#acceptedAt
    this.#renewAt = this.#acceptedAt + lifetime * RENEWAL_SHARE
    this.#expiresAt = this.#acceptedAt + lifetime
  }

  header(): string {
    return `Bearer ${this.#text}`
  }

  /** Whether more than half of its lifetime is left. */
  get isYoung(): boolean {
    return this.#clock.elapsed() - this.#issuedAt < this.#expiresAt - this.#clock.elapsed()
  }

  get isDueForRenewal(): boolean {
    return this.#clock.elapsed() >= this.#renewAt
  }

  get hasExpired(): boolean {
    return this.#clock.elapsed() >= this.#expiresAt
  }

  /** Milliseconds since the call began that has issued the token, or that the node has accepted it for. */
  get acceptedAgo(): number {
    return this.#clock.elapsed() - this.#acceptedAt
  }

  /** `sentAt`: when the call began, by the clock of `elapsed`. */
  recordAccepted(sentAt: number): void {
    this.#acceptedAt = sentAt
  }
}

/** Returns the token in the body of a login, or `undefined` if the body has none of the right form. */
export function parseLogin(body: Buffer, clock: Clock): Token | undefined {
  const text = ownField(ownField(parseJson(body), 'data'), 'token')
  if (typeof text !== 'string' || text.length > MAX_TOKEN_LENGTH) return undefined
  const payload = TOKEN_FORM.exec(text)?.[1]
  const claims = payload === undefined ? undefined : claimsOf(payload, clock)
  return claims && new Token(text, claims, clock)
}

interface TokenClaims {
  /** Milliseconds. */
  readonly lifetime: number
  readonly subject: TokenSubject
}

/**
 * The lifetime is the time between `nbf` and `exp`: both are times of the clock of the node, which may differ from the
 * clock here. The signature is not checked: the claims decide the time of the renewal, and whether a write ends the token.
 */
function claimsOf(payload: string, clock: Clock): TokenClaims | undefined {
  const parsed = parseJson(Buffer.from(payload, 'base64url'))
  const [exp, nbf] = [ownField(parsed, 'exp'), ownField(parsed, 'nbf') ?? clock.wall() / 1000]
  if (typeof exp !== 'number' || typeof nbf !== 'number') return undefined
  const lifetime = (exp - nbf) * 1000
  const roles = ownField(parsed, 'rbac_roles')
  const subject = { user: String(ownField(parsed, 'sub')), roles: Array.isArray(roles) ? roles : [] }
  return Number.isFinite(lifetime) && lifetime > 0 ? { lifetime, subject } : undefined
}
