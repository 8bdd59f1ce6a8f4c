/** An edge whose operators sign in with a password, or through an issuer under test. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { freePort } from '../../../packages/simulator/src/free-port.ts'
import { createKeyFile } from '../../../src/access/signing-keys.ts'
import { type RunningEdge, startEdge } from '../../support/edge.ts'
import { createTestBrowser, type TestBrowser, type Visit } from './browser.ts'
import { CLIENT_ID, CLIENT_SECRET, type IssuerUnderTest } from './issuer.ts'

/** Nothing here calls a node. */
const nodes = [{ name: 'master', type: 'master', url: 'http://127.0.0.1:9' }] as const

export interface SignInEdge extends RunningEdge {
  newBrowser(): TestBrowser
}

export interface SignInEdgeOptions {
  readonly issuer?: Pick<IssuerUnderTest, 'url'>
  /** Merged into `operations.signIn`. */
  readonly signIn?: Readonly<Record<string, unknown>>
  readonly access?: Readonly<Record<string, unknown>>
  /** The URL of the Redis that replicas share. */
  readonly redis?: string
  /** `cluster.credentials`. */
  readonly credentials?: Readonly<Record<string, unknown>>
}

export async function startSignInEdge(t: Test, options: SignInEdgeOptions = {}): Promise<SignInEdge> {
  const { issuer, signIn = {}, access = {}, redis, credentials = {} } = options
  // The redirect URL contains the port, so the port is known before the edge starts.
  const port = await freePort()
  // The redirect URL contains the port, so it is known before the edge starts.
  const outside = issuer && {
    issuer: issuer.url,
    clientId: CLIENT_ID,
    clientSecret: CLIENT_SECRET,
    redirectUrl: `http://127.0.0.1:${port}/sign-in/callback`,
    userClaim: 'preferred_username',
    rolesClaim: 'groups',
    roles: { soc: ['operator'], audit: ['reader'] },
  }
  const settings = {
    operations: { port, signIn: { ...outside, ...signIn } },
    cluster: { discover: false, credentials },
    access,
    ...(redis !== undefined && { cache: { redis: { url: redis } } }),
  }
  const edge = await startEdge({ nodes, settings, reloads: true })
  t.teardown(() => edge.close())
  return { ...edge, newBrowser: () => createTestBrowser(edge.operationsUrl) }
}

/** Returns a folder with one signing key, for edges that belong together. */
export async function keyFolder(t: Test): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'edge-keys-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  await createKeyFile(folder)
  return folder
}

/** Goes to the issuer and presses its button. Returns where the issuer sends the browser back to. */
export async function goToIssuer(edge: RunningEdge, browser: TestBrowser, returnTo = '/console/'): Promise<string> {
  const start = await browser.open(`${edge.operationsUrl}/sign-in/issuer?return=${encodeURIComponent(returnTo)}`)
  const page = await browser.open(start.location)
  return (/href="([^"]+)"/.exec(page.text)?.[1] ?? '').replaceAll('&amp;', '&')
}

export async function signInThroughIssuer(edge: RunningEdge, browser: TestBrowser): Promise<Visit> {
  return browser.open(await goToIssuer(edge, browser))
}

export async function signInWithPassword(edge: RunningEdge, browser: TestBrowser, user = 'operator'): Promise<Visit> {
  return browser.send(`${edge.operationsUrl}/sign-in`, { name: user, password: `${user}-pw`, return: '/console/' })
}

/** Replaces the users file: these users remain, with these bcrypt hashes. */
export function writeUsers({ folder }: RunningEdge, lines: readonly string[]): Promise<void> {
  return writeFile(join(folder, 'users'), `${lines.join('\n')}\n`, { mode: 0o600 })
}
