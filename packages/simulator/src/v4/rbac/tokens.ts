/** Tokens of one node: JSON Web Tokens that its own key signs. */
import { createHash, generateKeyPairSync, type KeyObject, sign } from 'node:crypto'

export interface Claims {
  readonly iss: 'wazuh'
  readonly aud: 'Wazuh API REST'
  /** Whole seconds since the epoch. */
  readonly nbf: number
  /** From release 5.0 on: the same in milliseconds. */
  readonly nbf_ms?: number
  readonly exp: number
  readonly sub: string
  readonly run_as: boolean
  readonly rbac_roles: readonly number[]
  readonly rbac_mode: 'white' | 'black'
  /** With `run_as` only: the digest of the authorisation context. */
  readonly hash_auth_context?: string
}

export interface IssuedToken {
  readonly claims: Claims
  readonly node: string
  /** Ends the lifetime before its time. */
  expiresAt: number
}

/** All good tokens. A node accepts only those that it issued, also after its restart. */
export class Tokens {
  readonly #keys = new Map<string, KeyObject>()
  readonly #issued = new Map<string, IssuedToken>()

  issue(node: string, claims: Claims): string {
    for (const [token, { expiresAt }] of this.#issued) if (expiresAt <= claims.nbf) this.#issued.delete(token)
    const parts = [{ alg: 'ES512', typ: 'JWT' }, claims].map((part) => encode(JSON.stringify(part)))
    const text = parts.join('.')
    const signature = sign('sha512', Buffer.from(text), { key: this.#keyOf(node), dsaEncoding: 'ieee-p1363' })
    const token = `${text}.${encode(signature)}`
    this.#issued.set(token, { claims, node, expiresAt: claims.exp })
    return token
  }

  /** Returns a token that the node issued, whatever became of it since. */
  find(token: string, node: string): IssuedToken | undefined {
    const issued = this.#issued.get(token)
    return issued?.node === node ? issued : undefined
  }

  /** Makes tokens as if they had never been issued. */
  forget(isMeant: (issued: IssuedToken) => boolean): void {
    for (const [token, issued] of this.#issued) if (isMeant(issued)) this.#issued.delete(token)
  }

  /** Ends the lifetime of all tokens now. */
  expire(seconds: number): void {
    for (const issued of this.#issued.values()) issued.expiresAt = seconds
  }

  #keyOf(node: string): KeyObject {
    const key = this.#keys.get(node) ?? generateKeyPairSync('ec', { namedCurve: 'P-521' }).privateKey
    this.#keys.set(node, key)
    return key
  }
}

function encode(text: string | Buffer): string {
  return Buffer.from(text).toString('base64url')
}

export function digestOf(context: unknown): string {
  return createHash('blake2b512').update(JSON.stringify(context)).digest('hex').slice(0, 32)
}
