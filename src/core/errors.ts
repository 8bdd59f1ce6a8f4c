/**
 * One table: every error that the edge itself can answer. Codes below 900 are those of the contract
 * (contract/errors.yaml); 900 to 949 are the edge's own. Everything else that a client sees came from a node.
 */
export interface ErrorDefinition {
  readonly status: number
  readonly message: string
  /** What the person who meets it can do. For documentation and logs; not sent. */
  readonly remedy: string
}

const PARAM = 'Param not valid'

export const errorTable = {
  600: { status: 400, message: PARAM, remedy: 'send a whole number' },
  601: { status: 400, message: PARAM, remedy: 'use letters, digits, dot, underscore and hyphen' },
  603: {
    status: 404,
    message: 'The requested URL was not found on this server',
    remedy: 'look at GET /openapi.json of the operations listener',
  },
  604: { status: 400, message: 'Filter error', remedy: 'use the parameters that the message lists' },
  605: { status: 400, message: PARAM, remedy: 'write the date as YYYYMMDD' },
  606: { status: 400, message: PARAM, remedy: 'send one IPv4 address, a prefix, or any' },
  607: {
    status: 400,
    message:
      "Invalid content-type. POST requests should be 'application/json', 'application/x-www-form-urlencoded', 'application/xml' or 'application/octet-stream'",
    remedy: 'send one Content-Type that the endpoint takes, and no Content-Encoding',
  },
  608: { status: 400, message: PARAM, remedy: 'send a plain path' },
  609: { status: 400, message: PARAM, remedy: 'remove the characters that a filter does not take' },
  610: { status: 400, message: PARAM, remedy: 'send a level N or a range N-M' },
  611: { status: 400, message: PARAM, remedy: 'sort by field names, separated by commas, + or - in front' },
  612: { status: 400, message: PARAM, remedy: 'leave out ; & | * ^ > and control characters' },
  613: { status: 400, message: PARAM, remedy: 'send 32, 40 or 64 hexadecimal digits' },
  614: { status: 400, message: 'Invalid request. Body is not correct.', remedy: 'send a well-formed request' },
  615: { status: 400, message: PARAM, remedy: 'use letters and digits' },
  616: { status: 400, message: PARAM, remedy: 'send a list of agent ids' },
  617: { status: 400, message: PARAM, remedy: 'send seconds, or a number with d, h, m or s' },
  618: { status: 400, message: PARAM, remedy: 'send true or false' },
  619: { status: 400, message: PARAM, remedy: 'select field names, separated by commas' },
  620: { status: 400, message: PARAM, remedy: 'send yes or no' },
  621: { status: 400, message: PARAM, remedy: 'send a list of names' },
  622: { status: 400, message: PARAM, remedy: 'write conditions as field, operator, value, joined by ; or ,' },
  623: { status: 400, message: PARAM, remedy: 'send one of the listed values' },
  701: { status: 400, message: 'Size of XML file is too long', remedy: 'send less, or raise listen.limits' },
  703: {
    status: 400,
    message: 'Invalid XML file',
    remedy: 'mend the XML; DOCTYPE, entities and processing instructions are refused',
  },
  704: { status: 400, message: 'Invalid path', remedy: 'name a file in one of the folders of the endpoint' },
  705: {
    status: 400,
    message: "Invalid CDB list. Format for CDB list is 'key:value'",
    remedy: 'write each line as key:value',
  },
  706: { status: 400, message: "'path' parameter is mandatory", remedy: 'send the parameter path' },
  801: {
    status: 400,
    message: 'Version header not valid. Expected format X.Y.Z',
    remedy: 'send wazuh-app-version as X.Y.Z or leave it out',
  },
  802: {
    status: 400,
    message: 'Version mismatch. The version of the app and of the API must be the same',
    remedy: 'use an app of the version of the manager',
  },
  804: {
    status: 400,
    message:
      "Invalid content-type for this request. Content-type should be 'application/xml' or 'application/octet-stream'",
    remedy: 'upload XML or a CDB list',
  },
  1405: { status: 200, message: 'Specified limit exceeds maximum allowed (1000)', remedy: 'page by 1000 at most' },
  1406: { status: 200, message: '0 is not a valid limit', remedy: 'send a limit of at least 1' },
  3022: { status: 200, message: 'Unknown node ID', remedy: 'use a name of GET /cluster/nodes' },
  900: { status: 400, message: 'Bad request', remedy: 'send a request that HTTP/1.1 reads in one way only' },
  901: { status: 401, message: 'Unauthorized', remedy: 'send valid Basic credentials or a Bearer token' },
  902: {
    status: 403,
    message: 'Permission denied',
    remedy: 'ask an administrator for a role that holds the permission',
  },
  903: { status: 429, message: 'Too many requests', remedy: 'wait as long as Retry-After says' },
  904: { status: 429, message: 'Too many failed logins', remedy: 'wait as long as Retry-After says' },
  905: { status: 405, message: 'Method not allowed', remedy: 'use GET, HEAD, POST, PUT or DELETE' },
  906: { status: 408, message: 'Request not received in time', remedy: 'send the request faster' },
  907: { status: 431, message: 'Request header too large', remedy: 'send fewer and shorter headers' },
  908: { status: 414, message: 'URL too long', remedy: 'send a URL of at most 8 KiB' },
  909: { status: 417, message: 'Expectation not known', remedy: 'send no Expect header but 100-continue' },
  910: { status: 421, message: 'Host not served here', remedy: 'use one of the names in listen.hosts' },
  911: {
    status: 503,
    message: 'Keys of the token issuer cannot be read',
    remedy: 'look at the issuer and at access.tokens.issuers; come again as Retry-After says',
  },
  920: { status: 503, message: 'No node available', remedy: 'look at the nodes; the answer names when to come again' },
  921: {
    status: 503,
    message: 'Node at its limit',
    remedy: 'come again as Retry-After says; raise cluster.limits if the node bears more',
  },
  922: {
    status: 504,
    message: 'Node did not answer in time',
    remedy: 'look at the node; send wait_for_complete for long jobs',
  },
  923: {
    status: 504,
    message: 'Node did not answer in time; whether it acted is not known',
    remedy: 'read the data before sending the request again: it may have been carried out',
  },
  924: { status: 502, message: 'Node unreachable', remedy: 'look at address, network and certificate of the node' },
  925: { status: 502, message: 'Node answered something unreadable', remedy: 'look at the log of the node' },
  926: {
    status: 502,
    message: 'Answer of the node is too large',
    remedy: 'ask for less, or raise cluster.limits.response',
  },
  927: { status: 502, message: 'Node refused the credentials of the edge', remedy: 'mend cluster.credentials' },
  928: {
    status: 502,
    message: 'No readable answer of the node; whether it acted is not known',
    remedy: 'read the data before sending the request again',
  },
  930: {
    status: 503,
    message: 'Cache cannot be made right; write refused',
    remedy: 'mend the connection to Redis, or set cache.onLostStore to delay; nothing was sent to the manager',
  },
  931: {
    status: 503,
    message: 'Owner of the agent not known',
    remedy: 'look at the master, at node_name of the agent and at cluster.nodes; come again as Retry-After says',
  },
  932: {
    status: 502,
    message: 'Not carried out on all nodes',
    remedy: 'look at the nodes that the message names; send it again when it may be carried out twice on the others',
  },
  933: {
    status: 502,
    message: 'Not carried out on all nodes; whether some acted is not known',
    remedy: 'look at the nodes that the message names before sending the request again',
  },
  934: {
    status: 503,
    message: 'Another write of the same is under way',
    remedy: 'come again as Retry-After says; nothing was sent to the manager',
  },
  935: {
    status: 502,
    message: 'Rows of agent 000 of this node cannot be read one by one',
    remedy: 'narrow the request until 1000 rows hold it, or set cluster.distribution to edge',
  },
  936: {
    status: 503,
    message: 'Audit cannot be written; write refused',
    remedy: 'mend the disk of audit.file, or set audit.onFailure to log; nothing was sent to the manager',
  },
  949: { status: 500, message: 'Internal error', remedy: 'report it with the request id' },
} as const satisfies Record<number, ErrorDefinition>

export type ErrorCode = keyof typeof errorTable

/** An answer of the edge's own. `detail` is appended to the message; `headers` travel with it. */
export class EdgeError extends Error {
  readonly code: ErrorCode
  readonly status: number
  readonly headers: Readonly<Record<string, string>>

  constructor(code: ErrorCode, detail = '', options: { headers?: Record<string, string>; cause?: unknown } = {}) {
    super(errorTable[code].message + detail, { cause: options.cause })
    this.name = 'EdgeError'
    this.code = code
    this.status = errorTable[code].status
    this.headers = options.headers ?? {}
  }
}
