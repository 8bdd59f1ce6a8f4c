/** Commands to an agent. */
import type { Endpoint } from './endpoint.ts'
import { write } from './record.ts'
import { message } from './schemas/answers.ts'
import { fieldTypes } from './schemas/bodies.ts'
import { agentId } from './schemas/params.ts'
import { agentOwner } from './schemas/targets.ts'

export const activeResponse: readonly Endpoint[] = [
  write('PUT', {
    path: '/active-response/:agent_id',
    summary: 'Send an active-response command to an agent',
    section: 'Active response',
    params: { agent_id: agentId },
    body: {
      kind: 'fields',
      types: fieldTypes,
      fields: {
        command: {
          type: 'string',
          kind: 'command',
          role: 'command; a leading ! means script name instead of command name',
          note: 'absent answers 1650',
        },
        custom: { type: 'boolean', kind: 'boolean', role: 'the command is custom', default: false },
        arguments: { type: 'strings', role: 'arguments' },
      },
    },
    permission: 'active-response:run',
    target: agentOwner,
    response: message,
    invalidates: [],
    invalidatesNothingBecause: 'the command acts on the agent; what it changes there arrives with the next scan',
  }),
]
