import com.sun.jersey.api.uri.UriComponent;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.StringJoiner;
import org.apache.hadoop.yarn.api.records.ApplicationAttemptId;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.NodeId;
import org.apache.http.NameValuePair;
import org.apache.http.client.utils.URLEncodedUtils;

/**
 * Reads what stands on each line as a ResourceManager reads it: a kind, and the bytes in hexadecimal digits. Prints the
 * same way: for a query its user, the one acted for, its delegation and its parameters; for an id the id, or `!`.
 */
public class Readers {
  private static final HexFormat HEX = HexFormat.of();

  public static void main(String[] args) throws Exception {
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      String[] told = line.split(" ", 2);
      String text = new String(HEX.parseHex(told[1]), StandardCharsets.UTF_8);
      System.out.println(told[0].equals("query") ? query(text) : id(told[0], text));
    }
  }

  private static String query(String text) {
    List<NameValuePair> pairs = URLEncodedUtils.parse(text, StandardCharsets.UTF_8);
    StringJoiner found = new StringJoiner(" ");
    found.add(first(pairs, "user.name", false)).add(first(pairs, "doAs", true)).add(first(pairs, "delegation", false));
    String encoded = UriComponent.contextualEncode(text, UriComponent.Type.QUERY);
    for (Map.Entry<String, List<String>> each : UriComponent.decodeQuery(encoded, true).entrySet()) {
      for (String value : each.getValue()) {
        found.add(hex(each.getKey()) + "=" + hex(value));
      }
    }
    return found.toString();
  }

  private static String first(List<NameValuePair> pairs, String name, boolean isInAnyCase) {
    for (NameValuePair pair : pairs) {
      if (isInAnyCase ? name.equalsIgnoreCase(pair.getName()) : name.equals(pair.getName())) {
        return pair.getValue() == null ? "-" : hex(pair.getValue());
      }
    }
    return "-";
  }

  private static String id(String kind, String text) {
    try {
      switch (kind) {
        case "application": return hex(ApplicationId.fromString(text).toString());
        case "attempt": return hex(ApplicationAttemptId.fromString(text).toString());
        case "container": return hex(ContainerId.fromString(text).toString());
        default: return hex(NodeId.fromString(text).toString());
      }
    } catch (RuntimeException refused) {
      return "!";
    }
  }

  private static String hex(String text) {
    return "x" + HEX.formatHex(text.getBytes(StandardCharsets.UTF_8));
  }
}
