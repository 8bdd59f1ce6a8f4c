/** Configurations with one fault in the cluster or in access, and the message of each. */
import { account, file, master, nodes, type Row, withGroup } from './settings-text.ts'

const cluster = (text: string) => file({ cluster: text })
const access = (text: string) => file({ access: `users: users\n  ${text}` })
const issuer = (text: string) => `tokens: { issuers: [{ issuer: 'https://id', audience: m, ${text} }] }`
const missing = 'cannot be read (ENOENT); create it, or let the user of this process read it'

const nodeRows: readonly Row[] = [
  [
    'no node',
    cluster(nodes('')),
    'edge.yaml:4:10 cluster.nodes: names no master; add { name: …, type: master, url: https://… }',
  ],
  [
    'two masters',
    cluster(nodes(`${master}, { name: n, type: master, url: 'https://b' }`)),
    'edge.yaml:4:10 cluster.nodes: names 2 masters; a cluster has one, the others are workers',
  ],
  [
    'distribution by the edge in the v4 layout',
    cluster(`distribution: edge\n  layout: v4\n  ${nodes(master)}`),
    'cluster.distribution: edge is not possible with cluster.layout: v4, where the master answers for all nodes; set it to manager',
  ],
  [
    'one name twice',
    cluster(nodes(`${master}, { name: m, type: worker, url: 'https://b' }`)),
    'cluster.nodes[1].name: m is used twice; each node needs its own',
  ],
  [
    'one address twice',
    cluster(nodes(`${master}, { name: n, type: worker, url: 'https://a/' }`)),
    'cluster.nodes[1].url: https://a is used twice; each node needs its own',
  ],
  [
    'a node without a type',
    cluster(nodes("{ name: m, url: 'https://a' }")),
    'cluster.nodes[0].type: is missing; write it',
  ],
  [
    'a node of another type',
    cluster(nodes("{ name: m, type: werker, url: 'https://a' }")),
    'cluster.nodes[0].type: must be one of master, worker, got "werker"',
  ],
  [
    'a node with an ill name',
    cluster(nodes("{ name: 'a b', type: master, url: 'https://a' }")),
    'cluster.nodes[0].name: must be a name of letters, digits, dot, underscore and hyphen, got "a b"',
  ],
  [
    'a node with a path',
    cluster(nodes("{ name: m, type: master, url: 'https://a/b' }")),
    'cluster.nodes[0].url: must be a URL such as https://10.0.0.10:55000, without path or password, got "https://a/b"',
  ],
  [
    'a node with a password',
    cluster(nodes("{ name: m, type: master, url: 'https://u:p@a' }")),
    'cluster.nodes[0].url: must be a URL such as',
  ],
  [
    'a node in clear',
    cluster(nodes("{ name: m, type: master, url: 'http://10.0.0.1:55000' }")),
    'cluster.nodes[0].url: http://10.0.0.1:55000 would send the credentials of the manager in clear; write https://, or set cluster.tls.required: false if the network in between is trusted',
  ],
  [
    'yes is a word',
    cluster(withGroup('discover: yes')),
    'edge.yaml:6:13 cluster.discover: must be true or false, got "yes"',
  ],
  [
    'a certificate without a key',
    cluster(withGroup('tls: { cert: users }')),
    'cluster.tls.cert: needs cluster.tls.key; set both or none',
  ],
  [
    'slow is not slower',
    cluster(withGroup('limits: { timeout: 5m }')),
    'cluster.limits.slowTimeout: is shorter than cluster.limits.timeout; raise it',
  ],
  [
    'a folder with a step up',
    cluster(withGroup('packageFolders: [/var/../etc/]')),
    'must be an absolute folder that ends with /, such as /var/ossec/, got "/var/../etc/"',
  ],
]

const credentialRows: readonly Row[] = [
  [
    'no account',
    cluster(`nodes: [${master}]`),
    'cluster.credentials: has no username; set the name of the user that the edge has on the manager',
  ],
  [
    'no password',
    cluster(account('username: edge')),
    'cluster.credentials: has no password; set passwordFile or EDGE_CLUSTER_CREDENTIALS_PASSWORD_FILE',
  ],
  [
    'two passwords',
    cluster(account('username: edge, password: x-y-z, passwordFile: users')),
    'cluster.credentials.password: is set together with passwordFile; keep one of the two',
  ],
  [
    'a missing password file',
    cluster(account('username: edge, passwordFile: nowhere')),
    `cluster.credentials.passwordFile: …/nowhere ${missing}`,
  ],
  [
    'an empty password file',
    cluster(account('username: edge, passwordFile: users')),
    `cluster.credentials.passwordFile: …/users is empty; write the secret into it`,
  ],
  [
    'an empty password',
    cluster(account("username: edge, password: ''")),
    'cluster.credentials.password: must not be empty',
  ],
  [
    'a name with a colon',
    cluster(account("username: 'a:b', password: x-y-z")),
    'cluster.credentials.username: must not contain a colon; choose another name',
  ],
]

const accessRows: readonly Row[] = [
  [
    'no user can log in',
    file({ access: 'roles: {}' }),
    'access.users: is missing, so no user could log in; create a file with "manager-edge user add", and name it here',
  ],
  ['a missing users file', file({ access: 'users: nowhere' }), `edge.yaml:7:10 access.users: …/nowhere ${missing}`],
  [
    'an unknown role',
    access('roles: { bob: [raeder] }'),
    'edge.yaml:8:18 access.roles.bob[0]: there is no role "raeder"; did you mean "reader"?',
  ],
  [
    'a role like no other',
    access('roles: { bob: [boss] }'),
    'access.roles.bob[0]: there is no role "boss"; available: reader, operator, administrator',
  ],
  [
    'an own role in a ready-made name',
    access("customRoles: { reader: ['agents:read'] }"),
    'access.customRoles.reader: is built in; choose another name',
  ],
  [
    'no permission',
    access('customRoles: { desk: [everything] }'),
    'access.customRoles.desk[0]: must be a permission such as agents:read, agents:* or *:*, got "everything"',
  ],
  ['no role for passthrough', access('passthroughRole: root'), 'access.passthroughRole: there is no role "root"'],
  ['a long token', access('tokens: { lifetime: 1h }'), 'access.tokens.lifetime: must be whole seconds, 1s to 900s'],
  [
    'a token of half a second',
    access('tokens: { lifetime: 1500ms }'),
    'access.tokens.lifetime: must be whole seconds, 1s to 900s',
  ],
  [
    'keys over plain HTTP',
    access(issuer("jwks: 'http://id/jwks'")),
    'access.tokens.issuers[0].jwks: must be an https:// URL (http:// for a loopback address only), got "http://id/jwks"',
  ],
  [
    'a weak algorithm',
    access(issuer("jwks: 'https://id/jwks', algorithms: [HS256]")),
    'access.tokens.issuers[0].algorithms[0]: must be one of RS256',
  ],
  [
    'a role of an issuer',
    access(issuer("jwks: 'https://id/jwks', roles: { staff: [boss] }")),
    'access.tokens.issuers[0].roles.staff[0]: there is no role "boss"',
  ],
]

export const clusterAndAccess: readonly Row[] = [...nodeRows, ...credentialRows, ...accessRows]
