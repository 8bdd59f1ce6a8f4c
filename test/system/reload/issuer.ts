/** An external issuer of tokens on loopback, with one key. */
import { generateKeyPairSync } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Test } from 'tap'
import { forge } from '../access/forge.ts'

export const ISSUER = 'https://id.example'

/** One for all issuers of a process: making an RSA key takes up to a second. */
const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })

export async function startProvider(t: Pick<Test, 'teardown'>) {
  let fetches = 0
  const server = createServer((_request, response) => {
    fetches += 1
    response.end(JSON.stringify({ keys: [{ ...publicKey.export({ format: 'jwk' }), kid: 'one' }] }))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  return {
    /** One entry of `access.tokens.issuers`. */
    settings: {
      issuer: ISSUER,
      jwks: `http://127.0.0.1:${(server.address() as AddressInfo).port}/jwks`,
      audience: 'manager',
    },
    /** Requests for the key set. */
    fetches: () => fetches,
    /** Returns a new token of an administrator. */
    tokenOf: (subject: string): string => {
      const iat = Math.floor(Date.now() / 1000)
      const claims = { iss: ISSUER, aud: 'manager', sub: subject, iat, exp: iat + 600, jti: subject }
      const header = { alg: 'RS256', typ: 'JWT', kid: 'one' }
      return forge(header, { ...claims, roles: ['administrator'] }, privateKey, 'sha256')
    },
  }
}
