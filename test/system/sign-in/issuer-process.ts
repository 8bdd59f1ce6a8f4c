/** The issuer under test as a process: its faults are set, and what it has received is read, by messages. */
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { forkScript } from '../../support/typescript/script.ts'
import { type IssuerUnderTest, startIssuer } from './issuer.ts'

type Behaviour = Partial<Pick<IssuerUnderTest, 'claims' | 'fault' | 'responseIssuer' | 'promisesIssuer' | 'isUp'>>

export interface IssuerProcess {
  readonly url: string
  /** Members that are `null` are reset to `undefined`. */
  set(behaviour: { readonly [Name in keyof Behaviour]: Behaviour[Name] | null }): Promise<void>
  /** Returns the paths that were requested, and the queries of ended sessions. */
  received(): Promise<{ readonly requests: readonly string[]; readonly ended: readonly string[] }>
}

export async function forkIssuer(t: { teardown(end: () => unknown): unknown }): Promise<IssuerProcess> {
  const child = forkScript(new URL(import.meta.url), [])
  t.teardown(() => child.kill())
  const [url] = (await once(child, 'message')) as [string]
  const ask = async (message: object) => {
    child.send(message)
    const [reply] = await once(child, 'message')
    return reply
  }
  return {
    url,
    set: async (behaviour) => void (await ask({ set: behaviour })),
    received: () => ask({}),
  }
}

/** Runs in the child process. */
async function serve(parent: NodeJS.Process & Pick<ChildProcess, 'send'>): Promise<void> {
  const issuer = await startIssuer({ teardown: () => undefined })
  parent.on('message', ({ set = {} }: { set?: Record<string, unknown> }) => {
    for (const [name, value] of Object.entries(set)) Object.assign(issuer, { [name]: value ?? undefined })
    parent.send({ requests: issuer.requests, ended: issuer.ended.map(String) })
  })
  parent.on('disconnect', () => parent.exit())
  parent.send(issuer.url)
}

if (process.send !== undefined && process.argv[1] === fileURLToPath(import.meta.url)) {
  await serve(process as Parameters<typeof serve>[0])
}
