import { createPublicKey, type JsonWebKey, type KeyObject } from 'node:crypto'
import { Agent, request } from 'undici'
import type { Log } from '../core/events.ts'
import type { Clock } from '../core/timing.ts'
import { type Members, member } from './tokens.ts'

/**
 * Outside issuers: their keys, kept and asked for sparingly. A token with an unknown `kid` is free to make, so it
 * may cost the issuer at most one request in thirty seconds, however many come.
 */

export type OutsideAlgorithm = 'RS256' | 'RS384' | 'RS512' | 'PS256' | 'PS384' | 'PS512' | 'ES256' | 'ES384' | 'EdDSA'

/** A public key and the one algorithm that it is used with. */
export interface IssuerKey {
  readonly pem: string
  readonly algorithm: OutsideAlgorithm
}

export type KeyAnswer =
  | { readonly ok: true; readonly key: IssuerKey }
  | { readonly ok: false; readonly reason: 'unknown' }
  /** The issuer cannot be asked; milliseconds until it is tried again. */
  | { readonly ok: false; readonly reason: 'unavailable'; readonly after: number }

export interface IssuerKeysOptions {
  readonly issuer: string
  readonly algorithms: readonly OutsideAlgorithm[]
  readonly read: ReadKeySet
  readonly clock: Clock
  readonly log: Log
}

const ASK_EVERY = 30_000
const REFRESH_AFTER = 600_000
const TRUSTED_FOR = 24 * 3600 * 1000
const GREATEST_KEYS = 64

export class IssuerKeys {
  readonly #options: IssuerKeysOptions
  #keys: ReadonlyMap<string, IssuerKey> = new Map()
  #readAt = Number.NEGATIVE_INFINITY
  #askedAt = Number.NEGATIVE_INFINITY
  #failed = false
  #underWay: Promise<void> | undefined

  constructor(options: IssuerKeysOptions) {
    this.#options = options
  }

  /** The key as it is known at this moment, without asking anybody. */
  known(kid: string): IssuerKey | undefined {
    const age = this.#options.clock.elapsed() - this.#readAt
    return age < TRUSTED_FOR ? this.#keys.get(kid) : undefined
  }

  /** The key of that name; asks the issuer when it is unknown and it may be asked. */
  async find(kid: string): Promise<KeyAnswer> {
    const { clock } = this.#options
    if (clock.elapsed() - this.#readAt > REFRESH_AFTER) this.#ask()
    if (this.known(kid) === undefined) {
      this.#ask()
      await this.#underWay
    }
    const key = this.known(kid)
    if (key !== undefined) return { ok: true, key }
    if (!this.#failed) return { ok: false, reason: 'unknown' }
    return { ok: false, reason: 'unavailable', after: Math.max(0, this.#askedAt + ASK_EVERY - clock.elapsed()) }
  }

  #ask(): void {
    const { clock, log, issuer, read } = this.#options
    if (clock.elapsed() - this.#askedAt < ASK_EVERY) return
    this.#askedAt = clock.elapsed()
    this.#underWay = read()
      .then((text) => {
        this.#keys = readKeySet(text, this.#options.algorithms)
        this.#readAt = clock.elapsed()
        this.#failed = false
      })
      .catch((error: unknown) => {
        this.#failed = true
        log('error', 'the keys of a token issuer cannot be read', { issuer, fault: String(error) })
      })
  }
}

/** `kid` → key, of a key set's text. Keys that cannot verify by one of the algorithms are passed over; throws when it is no key set. */
export function readKeySet(text: string, algorithms: readonly OutsideAlgorithm[]): ReadonlyMap<string, IssuerKey> {
  const set: unknown = JSON.parse(text)
  const list = isObject(set) ? member(set, 'keys') : undefined
  if (!Array.isArray(list)) throw new Error('the key set holds no list `keys`')
  const keys = new Map<string, IssuerKey>()
  for (const jwk of list.slice(0, GREATEST_KEYS).filter(isObject)) {
    const kid = member(jwk, 'kid')
    const key = toKey(jwk)
    const algorithm = key && algorithmOf(key, member(jwk, 'alg'))
    if (typeof kid !== 'string' || keys.has(kid) || algorithm === undefined || !algorithms.includes(algorithm)) continue
    keys.set(kid, { pem: key?.export({ type: 'spki', format: 'pem' }).toString() ?? '', algorithm })
  }
  return keys
}

function isObject(value: unknown): value is Members {
  return typeof value === 'object' && value !== null
}

function toKey(jwk: Members): KeyObject | undefined {
  const use = member(jwk, 'use')
  // A symmetric or a private key in a public place is no secret any more.
  if ((use !== undefined && use !== 'sig') || member(jwk, 'kty') === 'oct' || member(jwk, 'd') !== undefined)
    return undefined
  try {
    return createPublicKey({ key: jwk as JsonWebKey, format: 'jwk' })
  } catch {
    return undefined
  }
}

const curves: Readonly<Record<string, OutsideAlgorithm>> = { prime256v1: 'ES256', secp384r1: 'ES384' }

/** Pinned by the key: its own `alg` where that fits the kind of key, else the usual one of the kind. */
function algorithmOf(key: KeyObject, said: unknown): OutsideAlgorithm | undefined {
  const { asymmetricKeyType: kind, asymmetricKeyDetails: details } = key
  if (kind === 'ed25519') return said === undefined || said === 'EdDSA' ? 'EdDSA' : undefined
  if (kind === 'ec') {
    const algorithm = curves[details?.namedCurve ?? '']
    return said === undefined || said === algorithm ? algorithm : undefined
  }
  if (kind !== 'rsa' || (details?.modulusLength ?? 0) < 2048) return undefined
  if (said === undefined) return 'RS256'
  return rsaAlgorithms.find((algorithm) => algorithm === said)
}

const rsaAlgorithms: readonly OutsideAlgorithm[] = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512']

/** Reads the key set of an outside issuer (RFC 7517) from where its setting says; no byte of a request comes near it. */

/** The text of an issuer's key set; rejects when it cannot be had. */
export type ReadKeySet = () => Promise<string>

const TIMEOUT = 3000
const GREATEST_BYTES = 256 * 1024

/** A reader of one place: no redirect is followed, three seconds and 256 KiB are the most. Throws for a place without TLS on another machine. */
export function keySetReader(place: string): ReadKeySet {
  const { protocol, hostname } = new URL(place)
  const here = ['127.0.0.1', '[::1]', 'localhost'].includes(hostname)
  if (protocol !== 'https:' && !(protocol === 'http:' && here))
    throw new Error(`the keys of an issuer are read over https, not from ${place}: whoever sits between could sign`)
  return async () => {
    // Reads are minutes apart: a connection kept for the next one would only be closed by the other side.
    const dispatcher = new Agent({ connect: { timeout: TIMEOUT } })
    try {
      const { statusCode, body } = await request(place, {
        dispatcher,
        headers: { accept: 'application/jwk-set+json, application/json' },
        signal: AbortSignal.timeout(TIMEOUT),
      })
      if (statusCode !== 200) throw new Error(`the key set was answered with ${statusCode}`)
      return await readBounded(body)
    } finally {
      await dispatcher.destroy()
    }
  }
}

async function readBounded(body: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of body) {
    length += chunk.length
    if (length > GREATEST_BYTES) throw new Error(`the key set is longer than ${GREATEST_BYTES} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}
