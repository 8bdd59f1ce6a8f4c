/** The calls about the main configuration of nodes, its validation, and the restart of nodes. */
import { type Answer, affected } from '../answers.ts'
import type { Asked, Call } from '../model.ts'
import { read, validation, write } from './main-configuration.ts'
import { bothOf, ofNode } from './manager.ts'

/** Responds at once; the node is not ready for a while. */
function restart({ world, node }: Asked): Answer {
  node.restarts += 1
  node.startedAt = new Date(world.now().getTime() + (world.restartTakes ?? 0))
  return affected([node.name])
}

const nodeNeed = (action: 'read' | 'update_config' | 'restart', named: 'node' | 'nodes_list') => {
  const where = named === 'node' ? named : ({ in: 'query', as: named } as const)
  return [{ action: `cluster:${action}`, type: 'node:id', named: where } as const]
}
const validationTexts = {
  all: 'Validation was successfully checked in all nodes',
  some: 'Could not check validation in some nodes',
  none: 'Could not check validation in any node',
}
const restartTexts = {
  all: 'Restart request sent to  all specified nodes',
  some: 'Could not send restart request to some specified nodes',
  none: 'Could not send restart request to any node',
}
const updated = {
  all: 'Configuration was successfully updated in specified node',
  some: 'Could not update configuration in some nodes',
  none: 'Could not update configuration in specified node',
}
const put = {
  method: 'PUT',
  needs: nodeNeed('update_config', 'node'),
} as const

export const configurationCalls: readonly Call[] = [
  ...bothOf({
    path: '/configuration',
    texts: {
      all: 'Configuration was successfully read in specified node',
      some: 'Could not read configuration in some nodes',
      none: 'Could not read configuration in specified node',
    },
    run: ofNode(read),
  }),
  { ...put, path: '/manager/configuration', runs: 'here', texts: updated, run: write },
  {
    ...put,
    path: '/cluster/{node_id}/configuration',
    runs: 'node',
    texts: updated,
    run: write,
  },
  {
    method: 'GET',
    path: '/manager/configuration/validation',
    runs: 'here',
    needs: nodeNeed('read', 'node'),
    texts: validationTexts,
    cost: 800,
    run: validation,
  },
  {
    method: 'GET',
    path: '/cluster/configuration/validation',
    runs: 'nodes',
    needs: nodeNeed('read', 'nodes_list'),
    texts: validationTexts,
    cost: 800,
    run: validation,
  },
  {
    method: 'PUT',
    path: '/manager/restart',
    acceptedSince: 14,
    runs: 'here',
    needs: nodeNeed('restart', 'node'),
    texts: restartTexts,
    // A second order during a restart is accepted.
    duringRestart: true,
    run: restart,
  },
  {
    method: 'PUT',
    path: '/cluster/restart',
    acceptedSince: 14,
    runs: 'nodes',
    needs: nodeNeed('restart', 'nodes_list'),
    texts: restartTexts,
    duringRestart: true,
    run: restart,
  },
]
