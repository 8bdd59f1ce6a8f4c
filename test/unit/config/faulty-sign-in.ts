/** Configurations with one fault in the sign-in to the console, and the message of each. */
import { file, type Row } from './settings-text.ts'

const right = {
  issuer: 'https://id.example',
  clientId: 'console',
  redirectUrl: 'https://ops.example/sign-in/callback',
}
type Members = Readonly<Record<string, unknown>>
const signIn = (members: Members) => file({ more: `operations: { signIn: ${JSON.stringify(members)} }` })
const withIssuer = (members: Members) => signIn({ ...right, ...members })

export const validSignIn = withIssuer({ scopes: ['openid', 'email'], roles: { soc: ['operator'] }, lifetime: '24h' })

export const signInFaults: readonly Row[] = [
  ['a session of a week', signIn({ lifetime: '168h' }), 'operations.signIn.lifetime: must be from 1m to 24h'],
  ['a session of a second', signIn({ lifetime: '1s' }), 'operations.signIn.lifetime: must be from 1m to 24h'],
  ['a client without an issuer', signIn({ clientId: 'console' }), 'clientId: needs operations.signIn.issuer'],
  ['an issuer without TLS', withIssuer({ issuer: 'http://id.example' }), 'issuer: must be an https:// URL'],
  ['an issuer without a client', signIn({ ...right, clientId: undefined }), 'operations.signIn: has no clientId'],
  ['no redirect URL', signIn({ ...right, redirectUrl: undefined }), 'operations.signIn: has no redirectUrl'],
  [
    'a redirect URL of another path',
    withIssuer({ redirectUrl: 'https://ops.example/callback' }),
    'operations.signIn.redirectUrl: must end with /sign-in/callback',
  ],
  ['two secrets', withIssuer({ clientSecret: 'a secret', clientSecretFile: 'users' }), 'keep one of the two'],
  ['a secret that is missing', withIssuer({ clientSecretFile: 'nothing' }), 'nothing cannot be read (ENOENT)'],
  ['scopes without openid', withIssuer({ scopes: ['profile'] }), 'operations.signIn.scopes: must contain openid'],
  ['a role that does not exist', withIssuer({ roles: { soc: ['operater'] } }), 'did you mean "operator"?'],
]
