/** Translations of records of the service itself. */
import { agentRows } from './agents.ts'
import type { Translation } from './translation.ts'

const root = { path: '/', endless: true } as const

export const welcome: Translation = { call: root, response: { kind: 'own', shape: 'welcome' } }

export const version: Translation = { call: root, response: { kind: 'own', shape: 'version' } }

export const summary: Translation = {
  call: { path: '/overview/agents' },
  plan: 'summary',
  response: { kind: 'object', rows: agentRows },
}
