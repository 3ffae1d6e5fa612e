import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.security.UserGroupInformation;

/** Tells the short name of each name on standard input, both in base64; a dash for one that is refused. */
public final class ShortNames {
  public static void main(String[] arguments) throws Exception {
    UserGroupInformation.setConfiguration(new Configuration(false));
    BufferedReader names = new BufferedReader(new InputStreamReader(System.in));
    for (String line = names.readLine(); line != null; line = names.readLine()) {
      String name = new String(Base64.getDecoder().decode(line), StandardCharsets.UTF_8);
      try {
        String shortName = UserGroupInformation.createRemoteUser(name).getShortUserName();
        System.out.println("+" + Base64.getEncoder().encodeToString(shortName.getBytes(StandardCharsets.UTF_8)));
      } catch (IllegalArgumentException refused) {
        System.out.println("-");
      }
    }
  }
}
