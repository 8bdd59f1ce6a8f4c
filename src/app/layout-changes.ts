/** What follows when the layout of a node is recognised, or is another one than before. */
import type { Logger } from 'pino'
import type { Config } from '../config/schema.ts'
import type { CacheIndex } from '../core/response.ts'
import type { LayoutChange } from '../upstream/options.ts'

/**
 * Returns the listener. A node with another layout was upgraded or replaced, so nothing that is stored may describe it
 * any more. Everything is purged, on all replicas: responses of many nodes contain those of one, and such a change is
 * rare.
 */
export function createLayoutListener(
  { cluster }: Pick<Config, 'cluster'>,
  log: Logger,
  index: () => Pick<CacheIndex, 'purge'> | undefined,
): (change: LayoutChange) => void {
  return ({ node, before, layout, isMaster }) => {
    if (before !== undefined) {
      void index()?.purge({})
      log.info({ node }, 'stored responses discarded: the layout of a node changed')
    }
    if (isMaster && layout === 'newer' && cluster.distribution === 'edge') {
      const setting = 'cluster.distribution'
      log.warn({ setting }, 'mode edge has no effect: in the newer layout the master answers for all nodes')
    }
  }
}
