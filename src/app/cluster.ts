/** The cluster as the settings describe it. */
import { readFile } from 'node:fs/promises'
import type { Logger } from 'pino'
import { type Cluster, createCluster } from '../cluster/index.ts'
import type { Config } from '../config.ts'
import type { Called } from '../pipeline/observed.ts'

/** Rejects when a certificate cannot be read. */
export async function buildCluster(config: Config, log: Logger, onCall?: (call: Called) => void): Promise<Cluster> {
  const { cluster } = config
  const { mode, username = '', password = '' } = cluster.credentials
  const [ca, cert, key] = await Promise.all([cluster.tls.ca, cluster.tls.cert, cluster.tls.key].map(readIfSet))
  return createCluster({
    nodes: cluster.nodes,
    discover: cluster.discover,
    credentials: mode === 'service' ? { mode, username, password } : { mode },
    tls: { ...(ca && { ca }), ...(cert && { cert }), ...(key && { key }) },
    limits: cluster.limits,
    allowedAddresses: cluster.addresses,
    log: (level, message, fields) => log[level](fields, message),
    ...(onCall && { onCall }),
  })
}

async function readIfSet(file: string | undefined): Promise<string | undefined> {
  return file === undefined ? undefined : readFile(file, 'utf8')
}
