/** Nodes that share registers behind agents, with a delay that the check sets, each behind a fault proxy. */
import type { Layout } from '../../../src/core/node-call.ts'
import { startUpstream, type Upstream, type UpstreamBehavior } from '../coherence/processes.ts'
import { startFaultProxy } from '../proxy.ts'
import type { ClusterNode } from './cluster-process.ts'

export interface NodeUpstream extends Upstream {
  readonly nodes: readonly ClusterNode[]
}

export async function startNodeUpstream(
  behavior: Partial<UpstreamBehavior> = {},
  { workers = 0, layout = 'v3' }: { readonly workers?: number; readonly layout?: Layout } = {},
): Promise<NodeUpstream> {
  const upstream = await startUpstream({ delay: 0, heedsBypass: true, ...behavior }, 1 + workers, layout)
  const nodes = await Promise.all(
    upstream.urls.map(async (directUrl, at): Promise<ClusterNode> => {
      const proxy = await startFaultProxy(Number(new URL(directUrl).port))
      const url = `http://127.0.0.1:${proxy.port}`
      return at === 0
        ? { name: 'master', type: 'master', url, directUrl, proxy }
        : { name: `worker-${at}`, type: 'worker', url, directUrl, proxy }
    }),
  )
  return {
    ...upstream,
    nodes,
    close: async () => {
      await upstream.close()
      for (const { proxy } of nodes) await proxy.close()
    },
  }
}
