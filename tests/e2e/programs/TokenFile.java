import java.io.File;

import org.apache.hadoop.fs.Path;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.security.Credentials;
import org.apache.hadoop.security.token.Token;
import org.apache.hadoop.yarn.client.ClientRMProxy;
import org.apache.hadoop.yarn.client.api.YarnClient;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.security.client.RMDelegationTokenIdentifier;
import org.apache.hadoop.yarn.util.ConverterUtils;

/** Writes a delegation token to the file FILE, for jobs without a ticket (HADOOP_TOKEN_FILE_LOCATION): RENEWER FILE. */
public final class TokenFile {
  public static void main(String[] arguments) throws Exception {
    YarnConfiguration configuration = new YarnConfiguration();
    try (YarnClient client = YarnClient.createYarnClient()) {
      client.init(configuration);
      client.start();
      Token<RMDelegationTokenIdentifier> token = ConverterUtils.convertFromYarn(
          client.getRMDelegationToken(new Text(arguments[0])),
          ClientRMProxy.getRMDelegationTokenService(configuration));
      Credentials credentials = new Credentials();
      credentials.addToken(token.getService(), token);
      credentials.writeTokenStorageFile(new Path(new File(arguments[1]).toURI()), configuration);
    }
    System.out.println("written " + arguments[1]);
    System.exit(0);
  }
}
