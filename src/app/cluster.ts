/** The cluster as the settings describe it. */
import { readFile } from 'node:fs/promises'
import type { Logger } from 'pino'
import type { Config } from '../config/index.ts'
import { type Cluster, type ClusterOptions, createCluster, type NodeTls } from '../upstream/index.ts'

type Told = Pick<ClusterOptions, 'onCall' | 'untracedTraceparent'>

/** Rejects when a certificate cannot be read. */
export async function buildCluster(config: Config, log: Logger, told: Told = {}): Promise<Cluster> {
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
    ...told,
  })
}

/** Rejects when a file cannot be read. */
export async function readTls({ cluster: { tls } }: Config): Promise<NodeTls> {
  const [ca, cert, key] = await Promise.all([tls.ca, tls.cert, tls.key].map(readIfSet))
  return { ...(ca && { ca }), ...(cert && { cert }), ...(key && { key }) }
}

async function readIfSet(file: string | undefined): Promise<string | undefined> {
  return file === undefined ? undefined : readFile(file, 'utf8')
}
