import type { SimNode, World } from '../../model.ts'

/** The settings of the cluster, with its key, as a node uses them. */
export function clusterSettings(world: World, { name, type }: SimNode) {
  return {
    name: 'cluster',
    node_name: name,
    node_type: type,
    key: world.clusterKey,
    port: 1516,
    bind_addr: '0.0.0.0',
    nodes: world.nodes.filter((node) => node.type === 'master').map(({ ip }) => ip),
    hidden: 'no',
    disabled: false,
  }
}
