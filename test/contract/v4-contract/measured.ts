/** What a real 4.5.4 cluster has and the description lacks. */
import type { Described } from './description.ts'

const isEnabled = { type: 'boolean', default: true }
const anHour = { type: 'string', format: 'timeframe', default: '1h' }

/** The description has the words of later releases. */
const section = {
  type: 'string',
  words: [
    ...['active-response', 'agentless', 'alerts', 'auth', 'client', 'client_buffer', 'cluster', 'command'],
    ...['database_output', 'email_alerts', 'global', 'integration', 'labels', 'localfile', 'logging', 'remote'],
    ...['reports', 'rootcheck', 'ruleset', 'sca', 'socket', 'syscheck', 'syslog_output', 'vulnerability-detection'],
    ...['indexer', 'aws-s3', 'azure-logs', 'cis-cat', 'docker-listener', 'open-scap', 'osquery', 'syscollector'],
    'vulnerability-detector',
  ],
  wordReleases: {
    'vulnerability-detection': { since: '4.8' },
    indexer: { since: '4.8' },
    'vulnerability-detector': { until: '4.7' },
  },
}

/** Values of the query and of the body that the description lacks or has in another way. */
interface Measured {
  readonly query?: Described
  readonly members?: Described
}

export const measured: ReadonlyMap<string, Measured> = new Map<string, Measured>([
  ['GET /cluster/{node_id}/configuration', { query: { section } }],
  ['GET /manager/configuration', { query: { section } }],
  ['PUT /active-response', { members: { 'custom?': { type: 'boolean' } } }],
  [
    'POST /agents',
    {
      members: {
        'force?': {
          type: 'object',
          members: {
            'enabled?': isEnabled,
            'disconnected_time?': { type: 'object', members: { 'enabled?': isEnabled, 'value?': anHour } },
            'after_registration_time?': anHour,
          },
        },
      },
    },
  ],
])
