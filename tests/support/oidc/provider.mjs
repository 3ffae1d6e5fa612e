// An OpenID provider on a loopback port, for tests. Its settings are the JSON in the variable HEDDLE_PROVIDER:
//   issuer, port, clients, keys (JWKS with private keys), groups (by account), resource (audience of access tokens).
// Any account may log in by its name: the library's own pages ask for it.

import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const from = createRequire(pathToFileURL(`${process.env.HEDDLE_PROVIDER_MODULES}/`));
const { Provider } = await import(pathToFileURL(from.resolve("oidc-provider")));
const settings = JSON.parse(process.env.HEDDLE_PROVIDER);

const provider = new Provider(settings.issuer, {
  clients: settings.clients,
  jwks: { keys: settings.keys },
  cookies: { keys: ["a key of the tests' own"] },
  claims: { openid: ["sub", "preferred_username"], groups: ["groups"] },
  conformIdTokenClaims: false,
  features: {
    devInteractions: { enabled: true },
    clientCredentials: { enabled: true },
    resourceIndicators: {
      enabled: true,
      defaultResource: (_, client) => (client.grantTypes.includes("client_credentials") ? settings.resource : undefined),
      useGrantedResource: () => false,
      getResourceServerInfo: (_, resource) => ({
        scope: "",
        audience: resource,
        accessTokenFormat: "jwt",
        accessTokenTTL: 300,
        jwt: { sign: { alg: "RS256" } },
      }),
    },
  },
  extraTokenClaims: (_, token) => ({ preferred_username: token.accountId ?? token.clientId }),
  findAccount: (_, id) => ({
    accountId: id,
    claims: () => ({ sub: `number-of-${id}`, preferred_username: id, groups: settings.groups[id] ?? [] }),
  }),
});

provider.listen(settings.port, "127.0.0.1", () => process.stdout.write("ready\n"));
