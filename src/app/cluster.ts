/** Builds the cluster from the configuration. */
import { readFile } from 'node:fs/promises'
import type { Logger } from 'pino'
import type { Config } from '../config/schema.ts'
import type { NodeResult } from '../core/node-call.ts'
import { type Cluster, type ClusterOptions, createCluster, type NodeTls } from '../upstream/index.ts'

/** Rejects if a certificate cannot be read. */
export async function buildCluster(
  config: Config,
  log: Logger,
  listeners: Pick<ClusterOptions, 'onCall' | 'untracedTraceparent'> = {},
): Promise<Cluster> {
  const { cluster } = config
  const { mode, username = '', password = '' } = cluster.credentials
  return createCluster({
    nodes: cluster.nodes,
    discover: cluster.discover,
    credentials: mode === 'service' ? { mode, username, password } : { mode },
    tls: await readTls(config),
    limits: cluster.limits,
    allowedAddresses: cluster.addresses,
    log: (level, message, fields) => log[level](fields, message),
    ...listeners,
  })
}

/** Rejects if a file cannot be read. */
export async function readTls({ cluster: { tls } }: Config): Promise<NodeTls> {
  const [ca, cert, key] = await Promise.all([tls.ca, tls.cert, tls.key].map(readIfSet))
  return { ...(ca && { ca }), ...(cert && { cert }), ...(key && { key }) }
}

async function readIfSet(file: string | undefined): Promise<string | undefined> {
  return file === undefined ? undefined : readFile(file, 'utf8')
}

interface VersionCall {
  readonly node: string
  /** Milliseconds. */
  readonly timeout: number
  readonly caller: string
  readonly credentials?: { readonly username: string; readonly password: string }
}

/** Calls `GET /version` of a node, to check that it is reachable and accepts the credentials. */
export function callVersion(
  cluster: Cluster,
  { node, timeout, caller, credentials }: VersionCall,
): Promise<NodeResult> {
  return cluster.call({
    node,
    method: 'GET',
    path: '/version',
    retryable: true,
    expect: 'bytes',
    timeout,
    signal: new AbortController().signal,
    priority: 'health',
    caller,
    endpoint: 'GET /version',
    requestId: 'credentials',
    ...(credentials && { credentials }),
  })
}
