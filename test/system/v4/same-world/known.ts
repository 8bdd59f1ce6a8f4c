/** Where a cluster of the v4 layout differs from a v3 one with the same agents, groups and files. */

interface Known {
  readonly requests: RegExp
  readonly fields: RegExp
  readonly why: string
}

const ALL = /^/

export const knownDifferences: readonly Known[] = [
  { requests: /^GET \/$/, fields: /^\.body\.data\.msg:/, why: 'the edge welcomes its clients itself' },
  {
    requests: /^GET \/agents\/outdated/,
    fields: ALL,
    why: 'a v3 node cuts the page before it removes agents that are not outdated',
  },
  {
    requests: /^GET \/agents\/stats\/distinct\?limit/,
    fields: /internal_key:/,
    why: 'a v3 node shows a hidden field',
  },
  {
    requests: /^GET \/agents\/001\/(?:upgrade_result|config\/agent\/nope)/,
    fields: /^\.body\.(?:error|message):/,
    why: 'a task is missing at once, and names outside the contract of the v4 layout are unknown components',
  },
  {
    requests: /^GET \/agents\/groups\/lab\/configuration/,
    fields: /^\.body\.data/,
    why: 'the simulated v3 nodes parse shared files with fewer details',
  },
  {
    requests: /^GET \/(?:manager|cluster\/[^/]+)\/info/,
    fields: /\.(?:compilation_date|max_agents|openssl_support|ruleset_version):/,
    why: 'facts of the release',
  },
  { requests: /^GET \/cluster\/[^/]+\/status/, fields: /ossec-authd:/, why: 'registration also runs on workers' },
  {
    requests: /^GET \/(?:manager|cluster\/[^/]+)\/stats\/(?:analysisd|remoted)/,
    fields: /(?:_edps|hostinfo_events_decoded|msg_sent):/,
    why: 'counters that the v4 layout does not have',
  },
  {
    requests: /^GET \/(?:manager|cluster\/[^/]+)\/(?:configuration|config\/(?:analysis\/global|auth\/auth))/,
    fields: ALL,
    why: 'options of the release',
  },
  {
    requests: /^GET \/manager\/config\/(?:agent\/client|com\/cluster)/,
    fields: ALL,
    why: 'a manager has no such component, and the configuration of the cluster has no outer object',
  },
  {
    requests: /^GET \/cluster\/[^/]+\/files/,
    fields: ALL,
    why: 'the v4 layout has no files of single nodes but the main configuration',
  },
  {
    requests: /^GET \/cluster\/healthcheck/,
    fields: /\.status\.last_sync_|\.master\.info\.n_active_agents:/,
    why: 'other rounds of synchronisation, and the master does not count itself as an agent',
  },
  {
    requests: /^GET \/experimental\//,
    fields: /^\.body\.data\.(?:totalItems|failed_nodes|covered_agents)/,
    why: 'agent 000 of workers is not in the v4 layout, in which one call has the rows of many agents',
  },
  {
    requests: /^GET \/(?:experimental\/)?syscollector\/(?:\d+\/)?(?:packages|ports|processes)/,
    fields: /^\.body\.data\.items\[\]/,
    why: 'without a sort, the edge asks nodes of the v4 layout for a stable one',
  },
  {
    requests: /^GET \/rootcheck\/001\/pci/,
    fields: /^\.body\.data\.(?:items|totalItems)/,
    why: 'several requirements of one finding are one text',
  },
  {
    requests: /^GET \/sca\/\d+\/checks\//,
    fields: /\.(?:condition|reason): nothing/,
    why: 'fields that the v4 release stores for every check',
  },
  {
    requests: /^(?:PUT|POST) \/agents\/(?:(?:999|020)\/)?restart/,
    fields: /^\.body\.(?:error|message|data)/,
    why: 'an unknown agent fails as an item, and the text has no state of the agent',
  },
  {
    requests: /^PUT \/active-response\/001/,
    fields: /^\.body\.(?:error|message):/,
    why: 'the v4 layout has one error for a command that the agent cannot run',
  },
]

export const knownStates: readonly Pick<Known, 'fields' | 'why'>[] = [
  { fields: /^\.agents\.\d+\.cleared:/, why: 'a database of an agent without a known release is not cleared' },
]
