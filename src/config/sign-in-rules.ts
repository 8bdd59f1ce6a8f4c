/** Rules over the settings of sign-ins to the console. */
import type { Report, Rule } from './rules.ts'
import type { Config } from './schema.ts'
import { pathOf } from './tree.ts'

export const signInRules: readonly Rule[] = [
  { paths: [pathOf('operations.signIn'), pathOf('cluster.credentials')], check: checkSignIn },
]

/** The route of the operations listener to which the issuer sends the browser back. */
const CALLBACK_PATH = '/sign-in/callback'
const MINUTE_MS = 60_000
/** A session is checked against the users and roles of the edge, but not against those of the issuer. */
const MAX_LIFETIME_MS = 24 * 60 * MINUTE_MS

function checkSignIn({ operations: { signIn }, cluster }: Config, report: Report): void {
  const path = ['operations', 'signIn']
  const { lifetime, issuer, clientId, clientSecret, clientSecretFile, redirectUrl, scopes } = signIn
  if (lifetime < MINUTE_MS || lifetime > MAX_LIFETIME_MS) report([...path, 'lifetime'], 'must be from 1m to 24h')
  if (issuer === undefined) {
    const orphan = Object.entries({ clientId, clientSecretFile, redirectUrl }).find(([, value]) => value !== undefined)
    if (orphan) report([...path, orphan[0]], 'needs operations.signIn.issuer; set both or none')
    return
  }
  if (cluster.credentials.mode === 'passthrough')
    report([...path, 'issuer'], 'is not possible with cluster.credentials.mode: passthrough, which needs passwords')
  if (clientId === undefined)
    report(path, 'has no clientId; set the name of the client that the issuer has for the edge')
  if (redirectUrl === undefined) report(path, `has no redirectUrl; set https://<console>${CALLBACK_PATH}`)
  else if (new URL(redirectUrl).pathname !== CALLBACK_PATH || /[?#]/.test(redirectUrl))
    report([...path, 'redirectUrl'], `must end with ${CALLBACK_PATH}`)
  if (clientSecret !== undefined && clientSecretFile !== undefined)
    report([...path, 'clientSecret'], 'is set together with clientSecretFile; keep one of the two')
  if (!scopes.includes('openid')) report([...path, 'scopes'], 'must contain openid')
}
