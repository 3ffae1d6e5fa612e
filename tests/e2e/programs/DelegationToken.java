import java.security.PrivilegedExceptionAction;

import org.apache.hadoop.io.Text;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.security.token.Token;
import org.apache.hadoop.yarn.client.ClientRMProxy;
import org.apache.hadoop.yarn.client.api.YarnClient;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.security.client.RMDelegationTokenIdentifier;
import org.apache.hadoop.yarn.util.ConverterUtils;

/** Asks for a delegation token, logs in with it as somebody without a name of their own, renews and cancels it. */
public final class DelegationToken {
  private static int nodes(YarnConfiguration configuration, UserGroupInformation user) throws Exception {
    return user.doAs((PrivilegedExceptionAction<Integer>) () -> {
      try (YarnClient client = YarnClient.createYarnClient()) {
        client.init(configuration);
        client.start();
        return client.getYarnClusterMetrics().getNumNodeManagers();
      }
    });
  }

  private static UserGroupInformation holder(Token<RMDelegationTokenIdentifier> token) {
    UserGroupInformation user = UserGroupInformation.createRemoteUser("holder");
    user.addToken(token);
    return user;
  }

  public static void main(String[] arguments) throws Exception {
    YarnConfiguration configuration = new YarnConfiguration();
    String me = UserGroupInformation.getCurrentUser().getShortUserName();
    Token<RMDelegationTokenIdentifier> token;
    try (YarnClient client = YarnClient.createYarnClient()) {
      client.init(configuration);
      client.start();
      token = ConverterUtils.convertFromYarn(
          client.getRMDelegationToken(new Text(me)), ClientRMProxy.getRMDelegationTokenService(configuration));
    }
    System.out.println("owner " + token.decodeIdentifier().getUser().getShortUserName());
    System.out.println("nodes " + nodes(configuration, holder(token)));
    System.out.println("renewed " + (token.renew(configuration) > System.currentTimeMillis()));
    token.cancel(configuration);
    try {
      System.out.println("still " + nodes(configuration, holder(token)));
    } catch (Exception refused) {
      System.out.println("refused " + refused.getClass().getName());
    }
    System.exit(0);
  }
}
