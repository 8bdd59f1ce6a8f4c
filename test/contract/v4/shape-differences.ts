/** How the shapes of translated responses differ from those of a v3 cluster, each with its reason. */
export interface ExplainedDifference {
  /** Endpoint and path of the key. */
  readonly path: RegExp
  readonly what: RegExp
  readonly reason: string
}

/** Objects whose keys are data. */
export const openKeys: readonly RegExp[] = [/\.details$/, /healthcheck\.nodes$/, /logs\/summary$/]

const NOT_IN_RECORDING = 'optional: the rows of the v3 recording lack it, or those of the v4 one do'

export const shapeDifferences: readonly ExplainedDifference[] = [
  {
    path: /^GET \/(?:rules|decoders)(?:\/parents|\/:\w+)?\.items\[\]\.details\.\*\[\]$/,
    what: /^missing$/,
    reason: 'several options of one kind are one joined pattern in the v4 layout, which cannot be split',
  },
  {
    path: /^GET \/rules\.items\[\]\.details\.\*\.name$/,
    what: /^missing$/,
    reason: NOT_IN_RECORDING,
  },
  {
    path: /^GET \/rootcheck\/:agent_id\.items\[\]\.(?:cis|pci)$|^GET \/rootcheck\/:agent_id\/(?:cis|pci)\.items\[\]$/,
    what: /^extra$/,
    reason: 'the agents of the v3 recording found nothing that belongs to a requirement',
  },
  {
    path: /^GET \/sca\/:agent_id\/checks\/:policy_id\.items\[\]$/,
    what: /^extra$/,
    reason: 'the v3 recording has no checks',
  },
  {
    path: /\/ports\.items\[\]\.pid$/,
    what: /^extra$/,
    reason: 'the v3 contract filters by it, but the agents of the v3 recording did not report it',
  },
  {
    path: /\/processes\.items\[\]\.argvs$/,
    what: /^missing$/,
    reason: 'only processes with arguments have it',
  },
  {
    path: /^GET \/syscollector\/:agent_id\/hotfixes\.items\[\]$/,
    what: /^missing$/,
    reason: 'the v4 recording has no agent with hotfixes',
  },
  {
    path: /^GET \/agents(?:\/:agent_id|\/no_group|\/stats\/distinct)?(?:\.items\[\])?\.os\.build$/,
    what: /^missing$/,
    reason: 'only agents on Windows have it, and those of the v4 recording report none',
  },
  {
    path: /^GET \/agents\/stats\/distinct\.items\[\]\./,
    what: /^missing$/,
    reason: 'the v4 recording groups by some fields only',
  },
  {
    path: /^GET \/agents\/groups\/:group_id\/configuration\.items\[\]\.config\./,
    what: /^extra$/,
    reason: 'the groups of the v3 recording have no settings',
  },
  {
    path: /^GET \/agents\/groups\/:group_id\/files\/:filename$/,
    what: /^object\|text became array$/,
    reason: 'the v3 recording has only agent.conf; lists of signatures are arrays in both',
  },
  {
    path: /\/config\/:component\/:configuration\./,
    what: /^(?:missing|extra)$/,
    reason: 'settings in use: each release and each component has its own, and they pass as they are',
  },
  {
    path: /^GET \/manager\/config\/:component\/:configuration\.active-response$/,
    what: /^object became array$/,
    reason: 'the v3 recording has the settings of the component com, which are an object in both',
  },
  {
    path: /^GET \/manager\/config\/:component\/:configuration\.auth\.force_time$/,
    what: /^text became integer$/,
    reason: 'seconds, or the text always',
  },
  {
    path: /^GET \/(?:manager|cluster\/:node_id)\/configuration$/,
    what: /^object became array$/,
    reason: 'a section that may stand several times is an array; the v3 recording asks for others',
  },
  {
    path: /\/stats\/analysisd\.(?:\w+_edps|hostinfo_events_decoded)$|\/stats\/remoted\.msg_sent$/,
    what: /^missing$/,
    reason: 'the v4 layout lacks the counter',
  },
  {
    path: /^GET \/cluster\/healthcheck\.nodes\.\*\.status\.last_sync_\w+\.date_\w+$/,
    what: /^(?:precise date became text|text became precise date)$/,
    reason: 'n/a before the first synchronisation of this kind, in both',
  },
  {
    path: /^GET \/cluster\/healthcheck\.nodes\.\*\.status\.last_sync_agentinfo\.total_agent_info$/,
    what: /^missing$/,
    reason: 'the v4 layout lacks the count',
  },
]
