/** Records of commands on agents. */
import type { Endpoint } from '../endpoint.ts'
import { agentsList } from './params.ts'
import { master, write } from './record.ts'
import { bool, json, list, object, text } from './values.ts'

export const agentCommands: readonly Endpoint[] = [
  write('PUT', {
    path: '/active-response',
    section: 'Active-response',
    summary: 'Run a command on agents',
    permission: 'active-response:run',
    rights: ['active-response:command on agent:id:{agent_list}'],
    target: master('several'),
    withoutLost: { list: 'agents_list', message: 'AR command was not sent to some agents', leftOut: [1701, 1703] },
    query: { agents_list: agentsList },
    body: json({
      'arguments?': list(text()),
      command: text('active_response_command'),
      'custom?': bool(),
      'alert?': object({ 'data?': object() }),
    }),
    invalidates: [],
    invalidatesNothingBecause: 'an active response changes no data of the manager',
  }),
]
