/** Signature algorithms of tokens (RFC 7518 section 3.1, RFC 8037): asymmetric ones only. */
export const TOKEN_ALGORITHMS = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'EdDSA',
] as const

export type TokenAlgorithm = (typeof TOKEN_ALGORITHMS)[number]

/** The algorithm of the edge's own tokens: Ed25519. */
export const OWN_TOKEN_ALGORITHM: TokenAlgorithm = 'EdDSA'
