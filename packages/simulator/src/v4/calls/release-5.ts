/** What release 5.0 has in place of calls of releases 4, and new: commands to agents and nodes are tasks. */
import type { SimAgent } from '../../model.ts'
import { affected } from '../answers.ts'
import { V4Error } from '../errors.ts'
import type { Asked, Call, Need } from '../model.ts'
import { membersOf } from '../parameters.ts'
import { isBefore, releaseOf } from '../rows.ts'
import { eachAgent } from './agent-table.ts'
import { requireGroup } from './group-members.ts'

type Command = 'restart' | 'reload'
const TITLES = { restart: 'Restart', reload: 'Reload' } as const

/** The task is made for an agent in any state; agents of earlier releases do not take it. */
function taskFor(command: Command) {
  return (agent: SimAgent): string => {
    if (isBefore(releaseOf(agent) ?? [0], [5, 0, 0])) throw new V4Error(1761)
    if (command === 'restart') agent.restarts += 1
    return agent.id
  }
}

const textsOf = (command: Command) => ({
  all: `${TITLES[command]} command was sent to all agents`,
  some: `${TITLES[command]} command was not sent to some agents`,
  none: `${TITLES[command]} command was not sent to any agent`,
})

function membersOfGroup(asked: Omit<Asked, 'node'>): readonly string[] {
  const { name } = requireGroup(asked, asked.params.group_id ?? '', '')
  const members = [...asked.world.agents.values()].filter(({ groups }) => groups.includes(name))
  return members.filter((agent) => asked.allows(agent)).map(({ id }) => id)
}

function agentCallsOf(command: Command): Call[] {
  const call = { method: 'PUT', texts: textsOf(command), runs: 'master' } as const
  const need = (named: Need['named']): Need => ({ action: `agent:${command}`, type: 'agent:id', named })
  const all = ({ world, allows }: Asked) => [...world.agents.values()].filter(allows).map(({ id }) => id)
  return [
    {
      ...call,
      path: `/agents/${command}`,
      needs: [need({ in: 'query', as: 'agents_list' })],
      run: (asked) => eachAgent(asked, membersOf(asked.query.agents_list) ?? all(asked), taskFor(command)),
    },
    {
      ...call,
      path: `/agents/{agent_id}/${command}`,
      needs: [need({ in: 'path', as: 'agent_id' })],
      run: (asked) => eachAgent(asked, [asked.params.agent_id ?? ''], taskFor(command)),
    },
    {
      ...call,
      path: `/agents/group/{group_id}/${command}`,
      needs: [need('none')],
      run: (asked) => eachAgent(asked, membersOfGroup(asked), taskFor(command)),
    },
  ]
}

function nodeCallOf(command: Command): Call {
  return {
    method: 'PUT',
    path: `/cluster/${command}`,
    acceptedSince: 0,
    runs: 'nodes',
    needs: [{ action: 'cluster:restart', type: 'node:id', named: { in: 'query', as: 'nodes_list' } }],
    texts: {
      all: `${TITLES[command]} request sent to all specified nodes`,
      some: `Could not send ${command} request to some specified nodes`,
      none: `Could not send ${command} request to any node`,
    },
    duringRestart: true,
    run: ({ world, node }) => {
      if (command === 'restart') {
        node.restarts += 1
        node.startedAt = new Date(world.now().getTime() + (world.restartTakes ?? 0))
      }
      return affected([node.name])
    },
  }
}

export const release5Calls: readonly Call[] = [
  ...agentCallsOf('restart'),
  ...agentCallsOf('reload'),
  nodeCallOf('restart'),
  nodeCallOf('reload'),
]
