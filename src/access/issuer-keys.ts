/**
 * The public keys of an external issuer, fetched from its key set (RFC 7517). Anyone can make a token with an unknown
 * `kid`, so such tokens cause at most one request to the issuer in 30 seconds, however many arrive.
 */
import { KeyObject } from 'node:crypto'
import { importJWK, type JWK } from 'jose'
import { Agent, request } from 'undici'
import type { TokenAlgorithm } from '../core/access.ts'
import type { Log } from '../core/events.ts'
import type { Clock } from '../core/timing.ts'
import { isObject, ownField } from '../core/values.ts'

/** A public key and the one algorithm that it is used with. */
export interface IssuerKey {
  /** The same object until the keys of the issuer are fetched again. */
  readonly key: KeyObject
  readonly algorithm: TokenAlgorithm
}

export type KeyLookup =
  | { readonly ok: true; readonly key: IssuerKey }
  | { readonly ok: false; readonly reason: 'unknown' }
  /** The issuer cannot be reached. */
  | { readonly ok: false; readonly reason: 'unavailable'; readonly retryAfterMs: number }

export interface IssuerKeysOptions {
  readonly issuer: string
  readonly algorithms: readonly TokenAlgorithm[]
  readonly fetchKeySet: FetchKeySet
  readonly clock: Clock
  readonly log: Log
}

const MIN_FETCH_INTERVAL_MS = 30_000
const REFRESH_AFTER_MS = 600_000
const MAX_KEY_AGE_MS = 24 * 3600 * 1000
const MAX_KEYS = 64

export class IssuerKeys {
  readonly #options: IssuerKeysOptions
  #keys: ReadonlyMap<string, IssuerKey> = new Map()
  #fetchedAt = Number.NEGATIVE_INFINITY
  #triedAt = Number.NEGATIVE_INFINITY
  #hasFailed = false
  #pending: Promise<void> | undefined

  constructor(options: IssuerKeysOptions) {
    this.#options = options
  }

  /** Returns the key as it is known now, without a request to the issuer. */
  cached(kid: string): IssuerKey | undefined {
    const age = this.#options.clock.elapsed() - this.#fetchedAt
    return age < MAX_KEY_AGE_MS ? this.#keys.get(kid) : undefined
  }

  /** Resolves to the key with this `kid`. Fetches the key set if the key is unknown and the last fetch is old enough. */
  async find(kid: string): Promise<KeyLookup> {
    const { clock } = this.#options
    if (clock.elapsed() - this.#fetchedAt > REFRESH_AFTER_MS) this.#fetch()
    if (this.cached(kid) === undefined) {
      this.#fetch()
      await this.#pending
    }
    const key = this.cached(kid)
    if (key !== undefined) return { ok: true, key }
    if (!this.#hasFailed) return { ok: false, reason: 'unknown' }
    const retryAfterMs = Math.max(0, this.#triedAt + MIN_FETCH_INTERVAL_MS - clock.elapsed())
    return { ok: false, reason: 'unavailable', retryAfterMs }
  }

  #fetch(): void {
    const { clock, log, issuer, fetchKeySet } = this.#options
    if (clock.elapsed() - this.#triedAt < MIN_FETCH_INTERVAL_MS) return
    this.#triedAt = clock.elapsed()
    this.#pending = fetchKeySet()
      .then((text) => parseKeySet(text, this.#options.algorithms))
      .then((keys) => {
        this.#keys = keys
        this.#fetchedAt = clock.elapsed()
        this.#hasFailed = false
      })
      .catch((error: unknown) => {
        this.#hasFailed = true
        log('error', 'the key set of a token issuer cannot be fetched', { issuer, fault: String(error) })
      })
  }
}

/** Resolves to the text of an issuer's key set. */
type FetchKeySet = () => Promise<string>

const FETCH_TIMEOUT_MS = 3000
const MAX_KEY_SET_BYTES = 256 * 1024

/**
 * Returns a function that fetches this URL, without redirects. Throws if the URL has no TLS and another host: an
 * attacker in between could sign tokens. No part of a request reaches the URL.
 */
export function createKeySetFetcher(url: string): FetchKeySet {
  const { protocol, hostname } = new URL(url)
  const isLocal = ['127.0.0.1', '[::1]', 'localhost'].includes(hostname)
  if (protocol !== 'https:' && !(protocol === 'http:' && isLocal))
    throw new Error(`the key set of an issuer must be read over https, not from ${url}`)
  return async () => {
    // Fetches are minutes apart, so the connection is not reused.
    const dispatcher = new Agent({ connect: { timeout: FETCH_TIMEOUT_MS } })
    try {
      const { statusCode, body } = await request(url, {
        dispatcher,
        headers: { accept: 'application/jwk-set+json, application/json' },
        signal: AbortSignal.timeout(FETCH_TIMEOUT_MS),
      })
      if (statusCode !== 200) throw new Error(`the key set has status ${statusCode}`)
      return await readBody(body)
    } finally {
      await dispatcher.destroy()
    }
  }
}

async function readBody(body: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of body) {
    length += chunk.length
    if (length > MAX_KEY_SET_BYTES) throw new Error(`the key set is longer than ${MAX_KEY_SET_BYTES} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

/** The algorithm of a key that does not name one, by its curve or type. */
const DEFAULT_ALGORITHMS: Readonly<Record<string, TokenAlgorithm>> = {
  RSA: 'RS256',
  'P-256': 'ES256',
  'P-384': 'ES384',
  Ed25519: 'EdDSA',
}

/**
 * Returns the keys of a key set by `kid`, each with one algorithm. Skips keys that cannot verify with one of the algorithms, and
 * keys that are symmetric or private: those are no longer secret. Throws if the text is no key set.
 */
async function parseKeySet(
  text: string,
  algorithms: readonly TokenAlgorithm[],
): Promise<ReadonlyMap<string, IssuerKey>> {
  const list = ownField(JSON.parse(text), 'keys')
  if (!Array.isArray(list)) throw new Error('the key set holds no list `keys`')
  const keys = new Map<string, IssuerKey>()
  for (const jwk of list.slice(0, MAX_KEYS).filter(isObject)) {
    const { kid, kty, crv, use = 'sig', alg = DEFAULT_ALGORITHMS[String(crv ?? kty)] } = jwk
    const algorithm = algorithms.find((each) => each === alg)
    if (typeof kid !== 'string' || keys.has(kid) || use !== 'sig' || algorithm === undefined) continue
    const key = await importJWK(jwk as JWK, algorithm).catch(() => undefined)
    if (key !== undefined && 'type' in key && key.type === 'public')
      keys.set(kid, { key: KeyObject.from(key), algorithm })
  }
  return keys
}
