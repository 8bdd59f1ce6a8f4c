/** Settings of sign-ins to the console. */
import { freePort } from '../../../support/redis.ts'
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

const admin = ['administrator']
let settings: Record<string, unknown> = {}

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
]
