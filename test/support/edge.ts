import { generateKeyPairSync } from 'node:crypto'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { hash } from '@node-rs/bcrypt'
import { stringify } from 'yaml'
import type { Edge } from '../../src/app/edge.ts'
import { buildEdge } from '../../src/app/index.ts'
import type { EdgeTimes } from '../../src/app/times.ts'
import { loadConfig } from '../../src/config/index.ts'
import { cacheGroups } from '../../src/config/schema.ts'

export interface EdgeUnderTest {
  readonly nodes: readonly { readonly name: string; readonly type: 'master' | 'worker'; readonly url: string }[]
  /** Of the edge's own account on the nodes. */
  readonly password?: string
  /** Merged over the settings below. */
  readonly settings?: Settings
  /** Merged over the times below. */
  readonly times?: EdgeTimes
  /** Reloads the settings file, `edge.yaml` in the folder, when it changes, as the process does. */
  readonly reloads?: true
}

/** Each request after the TTL waits for a node. Tests of stale responses set their groups, or null for the default. */
const staleWhileRevalidate = Object.fromEntries(cacheGroups.map((group) => [group, '0s']))

/**
 * A busy machine may delay Redis for longer than the default of 50 ms. The replica would then work without it for seconds.
 * Tests of the timeout set their own.
 */
const REDIS_TIMEOUT = '1s'

/** How nodes are tried that no client calls: the times that apply. */
export const CONTACTS = { interval: 1_000, slowInterval: 5_000, timeout: 5_000, idleInterval: 15_000 }

/** Tests count the calls of nodes. On a busy machine a test may take longer than 15 s, after which idle nodes are probed. */
const NEVER_MS = 86_400_000

/** What the edge does in intervals of a second and more. Tests of an interval set their own. */
const TIMES = {
  cluster: {
    loginInterval: 20,
    contactTimes: { ...CONTACTS, idleInterval: NEVER_MS },
  },
  reportInterval: 200,
  spanDelay: 50,
} satisfies EdgeTimes

/** A fifth of the times that apply, for tests of nodes that fail while no client calls them. */
export const SHORT_CONTACTS = {
  interval: 200,
  slowInterval: 1_000,
  timeout: 1_000,
  idleInterval: 3_000,
}

/** Tests count calls of nodes, and the default compares one hit in a thousand. Tests of comparisons set their own share. */
const divergenceCheck = { sampleRatio: 0 }

export type Settings = { readonly [key: string]: unknown }

export interface RunningEdge {
  readonly url: string
  /** Of the port for the other contract, if the settings have one. */
  readonly secondUrl?: string
  readonly operationsUrl: string
  readonly edge: Edge
  /** Folder of the users file, the keys and so on. */
  readonly folder: string
  /** Every log line so far. */
  readonly logged: string[]
  /** The Basic header of `admin`, `operator` or `reader`. */
  authorization(user: string): string
  close(): Promise<void>
}

const users = ['admin', 'operator', 'reader'] as const

let usersText: Promise<string> | undefined
let keyText: string | undefined

/** Edges of one test are replicas: their users and keys are the same. */
function usersFile(): Promise<string> {
  // Cost 4 is the minimum of bcrypt: a test needs no protection against guessing.
  usersText ??= Promise.all(users.map(async (user) => `${user}:${await hash(`${user}-pw`, 4)}\n`)).then((lines) =>
    lines.join(''),
  )
  return usersText
}

function keyFile(): string {
  keyText ??= generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
  return keyText
}

/** Starts the complete edge on free loopback ports, with three users, from a configuration file. */
export async function startEdge(options: EdgeUnderTest): Promise<RunningEdge> {
  const folder = await mkdtemp(join(tmpdir(), 'manager-edge-'))
  await writeFile(join(folder, 'users'), await usersFile(), { mode: 0o600 })
  await mkdir(join(folder, 'keys'))
  await writeFile(join(folder, 'keys', 'test.pem'), keyFile(), { mode: 0o600 })
  const file = join(folder, 'edge.yaml')
  await writeFile(file, stringify(merge(basic(options), options.settings ?? {})))
  const loaded = await loadConfig({ file, env: {} })
  if (!loaded.ok) throw new Error(loaded.faults.join('\n'))
  const logged: string[] = []
  const logTo = new Writable({ write: (line, _encoding, done) => done(void logged.push(String(line))) })
  const edge = await buildEdge(loaded.config, {
    logTo,
    times: { ...TIMES, ...options.times, cluster: { ...TIMES.cluster, ...options.times?.cluster } },
    ...(options.reloads && { load: () => loadConfig({ file, env: {} }) }),
  })
  const urls = await edge.start()
  return {
    ...urls,
    edge,
    folder,
    logged,
    authorization: (user) => `Basic ${Buffer.from(`${user}:${user}-pw`).toString('base64')}`,
    close: async () => {
      await edge.drain(0)
      await rm(folder, { recursive: true, force: true })
    },
  }
}

function basic({ nodes, password = 'only-for-tests', settings = {} }: EdgeUnderTest): Settings {
  const isShared = isSettings(settings.cache) && isSettings(settings.cache.redis)
  return {
    listen: { host: '127.0.0.1', port: 0, drain: { delay: '0s', limit: '2s' } },
    operations: { host: '127.0.0.1', port: 0 },
    cluster: {
      nodes: nodes.map(({ name, type, url }) => ({ name, type, url })),
      credentials: { username: 'edge', password },
    },
    cache: { staleWhileRevalidate, divergenceCheck, redis: { timeout: REDIS_TIMEOUT } },
    access: {
      users: 'users',
      roles: { admin: ['administrator'], operator: ['operator'], reader: ['reader'] },
      ...(isShared && { tokens: { keys: 'keys' } }),
    },
  }
}

/** Returns `base` with the members of `over`, at every depth. */
export function merge(base: Settings, over: Settings): Settings {
  const result: Record<string, unknown> = { ...base }
  for (const [key, value] of Object.entries(over)) {
    const before = result[key]
    result[key] = isSettings(before) && isSettings(value) ? merge(before, value) : value
  }
  return result
}

function isSettings(value: unknown): value is Settings {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
