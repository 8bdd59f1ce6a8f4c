/** Settings of sign-ins to the console. */
import { join } from 'node:path'
import { freePort } from '../../../../packages/simulator/src/free-port.ts'
import { createTestBrowser } from '../../sign-in/browser.ts'
import { goToIssuer } from '../../sign-in/edge.ts'
import { CLIENT_ID, CLIENT_SECRET, startIssuer } from '../../sign-in/issuer.ts'
import type { Reloadable } from '../edge.ts'
import type { Proof } from '../proof.ts'

const accept = { accept: 'application/json', 'x-edge-console': '1' }

/** Signs in at the issuer. Observes the status of the sign-in, the user, the roles and the hours of the session. */
async function signIn({ edge }: Reloadable): Promise<unknown> {
  const browser = createTestBrowser(edge.operationsUrl)
  const { status } = await browser.open(await goToIssuer(edge, browser))
  const account = JSON.parse((await browser.open(`${edge.operationsUrl}/api/me`, accept)).text)
  return [status, account.user, account.roles, Math.ceil(account.session?.endsIn / 3_600_000)]
}

/** Observes how the edge sends a browser to the issuer, and whether the issuer then accepts the secret. */
async function signInAsClient({ edge }: Reloadable): Promise<unknown> {
  const browser = createTestBrowser(edge.operationsUrl)
  const { origin, searchParams } = new URL((await browser.open(`${edge.operationsUrl}/sign-in/issuer`)).location)
  const sent = ['client_id', 'redirect_uri', 'scope'].map((name) => searchParams.get(name))
  // The pages of these issuers have a link only if they know the client.
  const back = await goToIssuer(edge, browser)
  const status = back.startsWith(edge.operationsUrl) ? (await browser.open(back)).status : undefined
  return [nameOf(origin), ...sent.map(withoutPort), status]
}

const withoutPort = (text: string | null) => text?.replace(/:\d+/, '')

const admin = ['administrator']
let settings: Record<string, unknown> = {}
/** Issuers by their URL. */
const names = new Map<string, string>()
const nameOf = (url: string) => names.get(url)
let second = { issuer: '', redirectUrl: '', clientSecretFile: '' }

export const proofs: readonly Proof[] = [
  {
    start: async (t) => {
      const issuer = await startIssuer(t)
      issuer.claims = { sub: 'f3a1', preferred_username: 'olga', roles: admin, groups: ['soc'] }
      const port = await freePort()
      settings = {
        issuer: issuer.url,
        clientId: CLIENT_ID,
        clientSecret: CLIENT_SECRET,
        redirectUrl: `http://127.0.0.1:${port}/sign-in/callback`,
      }
      return { settings: { operations: { port, signIn: settings } } }
    },
    changes: {
      get 'operations.signIn'() {
        const claims = { userClaim: 'preferred_username', rolesClaim: 'groups', roles: { soc: ['operator'] } }
        return { ...settings, ...claims, lifetime: '2h' }
      },
    },
    before: [303, 'f3a1', admin, 8],
    after: [303, 'olga', ['operator'], 2],
    observe: signIn,
  },
  {
    start: async (t) => {
      const [one, two] = [await startIssuer(t), await startIssuer(t)]
      two.claims = { sub: 'f3a1', roles: admin }
      names.set(one.url, 'one').set(two.url, 'two')
      const port = await freePort()
      const folder = t.testdir({ secret: CLIENT_SECRET })
      const redirectUrl = `http://127.0.0.1:${port}/sign-in/callback`
      second = { issuer: two.url, redirectUrl, clientSecretFile: join(folder, 'secret') }
      const client = { clientId: 'another', clientSecret: 'another' }
      const first = { issuer: one.url, redirectUrl: 'https://console.example/sign-in/callback', ...client }
      return { settings: { operations: { port, signIn: first } } }
    },
    changes: {
      get 'operations.signIn'() {
        return { ...second, clientId: CLIENT_ID, clientSecret: null, scopes: ['openid', 'email'] }
      },
    },
    before: ['one', 'another', 'https://console.example/sign-in/callback', 'openid', undefined],
    after: ['two', CLIENT_ID, 'http://127.0.0.1/sign-in/callback', 'openid email', 303],
    observe: signInAsClient,
  },
]
