import java.io.File;
import java.net.InetSocketAddress;
import java.net.URL;
import java.net.URLClassLoader;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.http.HttpConfig;
import org.apache.hadoop.yarn.conf.YarnConfiguration;

/** For each folder of the arguments one line: what Hadoop's own classes read there, `!` for an exception. */
public class HadoopFolders {
    private static final String RM = "yarn.resourcemanager";

    public static void main(String[] folders) throws Exception {
        Configuration.addDefaultResource("yarn-default.xml");
        Configuration.addDefaultResource("yarn-site.xml");
        for (String folder : folders) {
            List<String> told = new ArrayList<>();
            URL[] path = {new File(folder + "/").toURI().toURL()};
            Configuration conf = new Configuration();
            conf.setClassLoader(new URLClassLoader(path, HadoopFolders.class.getClassLoader()));
            conf.setQuietMode(true);
            told.add(text(() -> { conf.size(); return "read"; }));
            told.add(text(() -> conf.get("x")));
            told.add(text(() -> conf.get(RM + ".hostname")));
            told.add(text(() -> address(conf, RM + ".address", 8032)));
            told.add(text(() -> address(conf, RM + ".scheduler.address", 8030)));
            told.add(text(() -> address(conf, RM + ".webapp.address", 8088)));
            told.add(text(() -> address(conf, RM + ".webapp.https.address", 8090)));
            told.add(text(() -> "" + (HttpConfig.Policy.HTTPS_ONLY
                == HttpConfig.Policy.fromString(conf.get("yarn.http.policy", "HTTP_ONLY")))));
            told.add(text(() -> "" + conf.getBoolean("yarn.acl.enable", false)));
            told.add(text(() -> "" + conf.getBoolean(RM + ".ha.enabled", false)));
            told.add(text(() -> "" + conf.getLong(RM + ".epoch", 0)));
            told.add(text(() -> String.join("|", conf.getTrimmedStringCollection(RM + ".ha.rm-ids"))));
            System.out.println(String.join("\t", told));
        }
    }

    private static String address(Configuration conf, String key, int port) {
        InetSocketAddress found = conf.getSocketAddr(key, "0.0.0.0:" + port, port);
        return found.getHostString() + ":" + found.getPort();
    }

    private static String text(Callable<String> asked) {
        try {
            String found = asked.call();
            StringBuilder hex = new StringBuilder(found == null ? "-" : "=");
            if (found != null) {
                for (byte each : found.getBytes("UTF-8")) {
                    hex.append(String.format("%02x", each));
                }
            }
            return hex.toString();
        } catch (Throwable failed) {
            return "!";
        }
    }
}
