/** Settings that are right, as text, and where to spoil them. */
const right = {
  listen: 'host: 127.0.0.1',
  cluster: `nodes: [{ name: m, type: master, url: 'https://10.0.0.1:55000' }]
  credentials: { username: edge, password: 'long and its own' }`,
  access: 'users: users',
}

/** Lines of a fault are counted from `listen:`; `cluster` begins in line 4, `access` in line 7, `more` in line 8. */
export function file(parts: Partial<typeof right> & { more?: string }): string {
  const { listen, cluster, access } = { ...right, ...parts }
  return `listen:\n  ${listen}\ncluster:\n  ${cluster}\naccess:\n  ${access}\n${parts.more ?? ''}`
}

export const master = "{ name: m, type: master, url: 'https://a' }"

/** `cluster` with these nodes. */
export const nodes = (list: string) =>
  `nodes: [${list}]\n  credentials: { username: edge, password: 'long and its own' }`

/** `cluster` with these credentials. */
export const account = (text: string) => `nodes: [${master}]\n  credentials: { ${text} }`

/** `cluster` with one group more. */
export const withGroup = (text: string) => `${right.cluster}\n  ${text}`

export type Row = readonly [name: string, text: string, fault: string]
